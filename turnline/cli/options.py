"""The options that commands share, spelled and explained once."""

from pathlib import Path
from typing import Annotated

import typer

DataOption = Annotated[
    Path | None, typer.Option("--data", help="Folder of the store; otherwise TURNLINE_DATA, or ./.turnline.")
]
StoreOption = Annotated[str | None, typer.Option("--store", help="sqlite:///PATH; otherwise TURNLINE_STORE.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document, for scripts.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]
TenantOption = Annotated[str | None, typer.Option("--tenant", help="One tenant only; otherwise all.")]
KeyTenantOption = Annotated[
    str | None, typer.Option("--tenant", help="The tenant that the key belongs to; otherwise the one of the settings.")
]
ByOption = Annotated[
    str | None, typer.Option("--by", help="Who does this, for the audit trail; otherwise your user name.")
]
