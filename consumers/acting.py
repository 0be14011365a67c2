"""What a turn decided on, as entries, effects and waits of its commit. Pure."""

from collections.abc import Sequence
from typing import Any, assert_never

from consumers.drafting import Draft, TurnMeta, effect_id_for
from consumers.intents import AskIntent, CallIntent, Intent, ReplyIntent, TimerIntent
from sessionstore.effect import Effect
from sessionstore.wait import Wait


def act(draft: Draft, meta: TurnMeta, action: Intent, ordinal: int) -> None:
    """Add one decision; `ordinal` is its place in the turn, from which its id follows."""
    match action:
        case ReplyIntent():
            _reply(draft, meta, action, ordinal)
        case CallIntent():
            _call(draft, meta, action, ordinal)
        case AskIntent():
            _ask(draft, meta, action, ordinal)
        case TimerIntent():
            wait_id = effect_id_for(meta.turn_id, ordinal)
            wait = Wait(wait_id, "timer", action.then, data=action.data, due=action.due, route=meta.reply_to)
            open_wait(draft, wait)
        case _:
            assert_never(action)


def _reply(draft: Draft, meta: TurnMeta, action: ReplyIntent, ordinal: int) -> None:
    route = action.route
    effect_id = effect_id_for(meta.turn_id, ordinal) if route else ""
    lane = str(route.get("lane") or route["adapter"]) if route else ""
    body = {"effect_id": effect_id, "text": action.text, "lane": lane, **action.extra}
    draft.add("message.out", body)
    if route is None:
        return
    effect = Effect(
        effect_id=effect_id,
        adapter=str(route["adapter"]),
        lane=lane,
        target=route,
        body={"text": action.text, **action.extra},
        summary=action.text[:80],
        then=action.then,
        route=meta.reply_to if action.then else None,
    )
    draft.effects.append(effect)
    if action.then:
        draft.add("effect.requested", _requested(effect))


def _call(draft: Draft, meta: TurnMeta, action: CallIntent, ordinal: int) -> None:
    binds = _bound(draft, action.binds)
    effect = Effect(
        effect_id=effect_id_for(meta.turn_id, ordinal),
        adapter=action.adapter,
        lane=action.lane,
        target=action.target,
        body=action.body,
        summary=action.summary,
        then=action.then,
        binds=binds,
        approval=meta.approval if binds else "",
        expires_at=None if action.ttl_s is None else meta.now + action.ttl_s,
        on_unknown=action.on_unknown,
        route=meta.reply_to if action.then else None,
    )
    draft.effects.append(effect)
    draft.add("effect.requested", _requested(effect))


def _requested(effect: Effect) -> dict[str, Any]:
    return {
        "effect_id": effect.effect_id,
        "adapter": effect.adapter,
        "lane": effect.lane,
        "summary": effect.summary,
        "body": effect.body,
        "then": effect.then,
        "binds": dict(effect.binds),
        "approval": effect.approval,
    }


def _ask(draft: Draft, meta: TurnMeta, action: AskIntent, ordinal: int) -> None:
    wait = Wait(
        wait_id=effect_id_for(meta.turn_id, ordinal),
        kind="approval",
        then=action.then,
        question=action.question,
        options=action.options,
        binds=_bound(draft, action.binds) if action.binds_to is None else action.binds_to,
        data=action.data,
        expires_at=None if action.expires_s is None else meta.now + action.expires_s,
        priority=action.priority,
        route=action.route,
    )
    open_wait(draft, wait, action.again_of)
    asked = {"wait_id": wait.wait_id, "options": list(wait.options), "binds": dict(wait.binds)}
    reply = ReplyIntent(action.question, action.route, extra=asked)
    # The question's message has an id of its own, apart from its wait's.
    _reply(draft, meta, reply, ordinal + 1_000_000)


def open_wait(draft: Draft, wait: Wait, again_of: str = "") -> None:
    draft.waits.append(wait)
    body = {
        "wait_id": wait.wait_id,
        "kind": wait.kind,
        "then": wait.then,
        "question": wait.question,
        "options": list(wait.options),
        "binds": dict(wait.binds),
        "expires_at": wait.expires_at,
        "due": wait.due,
    }
    if again_of:
        body["again_of"] = again_of
    draft.add("wait.opened", body)


def _bound(draft: Draft, names: Sequence[str]) -> dict[str, Any]:
    facts = draft.record["observation"]["facts"]
    return {name: facts.get(name) for name in names}
