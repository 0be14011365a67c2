"""SQL: one statement a file, each file asked for by the Python beside it."""

import ast
import re
import sqlite3
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, finding, parsed, plant

DOLLAR_QUOTED = re.compile(r"(\$\w*\$).*?\1", re.DOTALL)
COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)


def sql_files(root: Path) -> list[Path]:
    return sorted((root / "sessionstore").glob("**/sql/**/*.sql"))


def statement_count(text: str) -> int:
    """How many statements `text` holds; SQLite's own scanner knows strings, comments, triggers."""
    text = DOLLAR_QUOTED.sub("''", text)
    count, piece = 0, ""
    for part in re.split(r"(?<=;)", text):
        piece += part
        if sqlite3.complete_statement(piece):
            count += _says_something(piece)
            piece = ""
    return count + _says_something(piece)


def _says_something(piece: str) -> bool:
    return bool(COMMENT.sub("", piece).strip(" \t\r\n;"))


def not_one_statement(root: Path) -> list[str]:
    counts = ((path, statement_count(path.read_text(encoding="utf-8"))) for path in sql_files(root))
    return [finding(root, path, 1, f"{n} statements, not one") for path, n in counts if n != 1]


def unreferenced(root: Path) -> list[str]:
    strings = [(path, _strings(tree)) for path, tree in parsed(root, ("sessionstore",))]
    return [
        finding(root, sql, 1, "no Python beside it names this file")
        for sql in sql_files(root)
        if not any(sql.stem in words for path, words in strings if _may_use(root, path, sql))
    ]


def _may_use(root: Path, path: Path, sql: Path) -> bool:
    """The driver that holds the file, or the package's own modules that drivers share."""
    folder = next(parent for parent in sql.parents if parent.name == "sql").parent
    return folder in path.parents or path.parent == root / "sessionstore"


def _strings(tree: ast.Module) -> set[str]:
    """The string constants of a module, as file stems; a docstring is prose and never matches."""
    return {
        node.value.rpartition("/")[2].removesuffix(".sql")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_each_sql_file_holds_one_statement() -> None:
    assert not_one_statement(ROOT) == []


def test_each_sql_file_is_named_by_the_python_beside_it() -> None:
    assert unreferenced(ROOT) == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("-- only; a comment\n", 0),
        ("select 1", 1),
        ("select 1;\n-- and; that is all\n", 1),
        ("select ';' as a, \"b;c\" /* ; */ from t;", 1),
        ("create trigger t after insert on a begin select 1; select 2; end;", 1),
        ("create function f() returns int as $$ begin a; b; end $$ language plpgsql;", 1),
        ("create function f() returns int as $x$ a; b; $x$ language sql; select f();", 2),
        ("select 1; select 2", 2),
        ("delete from a;\ndelete from b;\n", 2),
    ],
)
def test_statements_are_counted_as_a_database_counts_them(text: str, count: int) -> None:
    assert statement_count(text) == count


@pytest.mark.parametrize("text", ["", "delete from a; delete from b;"])
def test_a_planted_file_without_exactly_one_statement_is_found(tmp_path: Path, text: str) -> None:
    plant(tmp_path, "sessionstore/sqlite/sql/clear.sql", text)
    plant(tmp_path, "sessionstore/sqlite/sql/load.sql", "select 1;\n")
    assert len(found := not_one_statement(tmp_path)) == 1
    assert "sql/clear.sql" in found[0]


def test_a_planted_file_that_no_python_names_is_found(tmp_path: Path) -> None:
    for driver in ("sqlite", "postgres"):
        plant(tmp_path, f"sessionstore/{driver}/sql/load.sql", "select 1;\n")
    plant(tmp_path, "sessionstore/sqlite/store.py", 'SQL = "load"\n')
    plant(tmp_path, "sessionstore/postgres/store.py", '"""How to load."""\n')
    assert [found.split(":")[0] for found in unreferenced(tmp_path)] == ["sessionstore/postgres/sql/load.sql"]


@pytest.mark.parametrize("name", ["load", "load.sql", "sql/load.sql"])
def test_a_file_is_named_with_or_without_its_suffix_and_folder(tmp_path: Path, name: str) -> None:
    plant(tmp_path, "sessionstore/sqlite/sql/load.sql", "select 1;\n")
    plant(tmp_path, "sessionstore/sqlite/store.py", f'SQL = "{name}"\n')
    assert unreferenced(tmp_path) == []
