"""Every way in which the Messages API can answer or fail, against a scripted server."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from messages_server import (
    MessagesServer,
    Step,
    always,
    broken,
    dropped,
    ended,
    hang,
    raw,
    reply,
    status,
    trickle,
)
from mutator_tasks import make_task

from lae_controller.change.diff import apply_change
from lae_controller.config import MutatorSettings
from lae_controller.errors import ConfigError, PrerequisiteError
from lae_controller.mutators.anthropic_api import AnthropicMutator
from lae_controller.mutators.backoff import Patience
from lae_controller.mutators.environment import BASE_URL, KEY, TOKEN
from lae_controller.program import Reason
from lae_controller.task import Mutation, MutatorFailure, Task

FILES = {"train.py": "LR = 0.1\nWIDTH = 16\n"}
CHILD = {"train.py": "LR = 0.2\nWIDTH = 16\n"}
DIFF = "SUMMARY: a larger step\n<<<<<<< SEARCH\nLR = 0.1\n=======\nLR = 0.2\n>>>>>>> REPLACE\n"
SECRET = "sk-ant-a-planted-key-0123456789"


@dataclass
class Trial:
    """What came of one proposal."""

    outcome: Mutation | MutatorFailure
    server: MessagesServer
    waits: list[float]

    @property
    def asked(self) -> int:
        return len(self.server.requests)

    @property
    def child(self) -> dict[str, str]:
        assert isinstance(self.outcome, Mutation), self.outcome
        return apply_change(FILES, self.outcome.change, editable=("**",)).files

    @property
    def failure(self) -> MutatorFailure:
        assert isinstance(self.outcome, MutatorFailure), self.outcome
        return self.outcome


class Rig:
    """Starts a server for a script and lets the Mutator ask it."""

    def __init__(self) -> None:
        self.servers: list[MessagesServer] = []

    def propose(
        self,
        *steps: Step,
        task: Task | None = None,
        environ: dict[str, str] | None = None,
        tries: int = 4,
        **settings: Any,
    ) -> Trial:
        server = MessagesServer(list(steps)).__enter__()
        self.servers.append(server)
        waits: list[float] = []
        values = {"backend": "anthropic", "model": "claude-opus-5-5", "timeout": 60.0, **settings}
        mutator = AnthropicMutator(
            MutatorSettings(**values),
            {BASE_URL: server.url, KEY: SECRET, **(environ or {})},
            Patience(tries=tries, sleep=waits.append),
        )
        outcome = mutator.mutate(task or make_task(FILES), random.Random(0))
        return Trial(outcome, server, waits)


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Rig]:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)  # a whole bundle takes 0.1 s to read
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    made = Rig()
    yield made
    for server in made.servers:
        server.__exit__()


# -- a reply ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", ["end_turn", "stop_sequence", "tool_use", "a_new_reason"])
def test_a_whole_reply_is_a_mutation(rig: Rig, stop: str) -> None:
    trial = rig.propose(reply(DIFF, stop, thinking="Let me see."))
    assert trial.child == CHILD
    assert isinstance(trial.outcome, Mutation)
    assert trial.outcome.summary == "a larger step"
    assert trial.outcome.reply == DIFF
    assert (trial.asked, trial.waits) == (1, [])


def test_usage_and_cost_are_those_of_all_calls(rig: Rig) -> None:
    trial = rig.propose(reply("LR", "max_tokens", output_tokens=8000), reply(DIFF))
    usage = trial.outcome.usage
    assert usage is not None
    assert usage.calls == 2
    assert (usage.input_tokens, usage.output_tokens) == (2000, 8050)
    assert (usage.cache_read_tokens, usage.cache_write_tokens) == (600, 400)
    by_hand = (2000 * 4 + 600 * 0.2 + 400 * 5 + 8050 * 20) / 1e6
    assert usage.cost_usd == pytest.approx(by_hand)
    assert usage.seconds > 0
    assert usage.model == "claude-opus-5-5"


def test_the_cost_of_an_unknown_model_is_not_known(rig: Rig) -> None:
    usage = rig.propose(reply(DIFF), model="qwen2.5-coder-1.5b").outcome.usage
    assert usage is not None
    assert usage.cost_usd is None
    assert usage.input_tokens == 1000


def test_a_cut_reply_is_not_used_and_a_smaller_change_is_asked_for(rig: Rig) -> None:
    cut = DIFF + "<<<<<<< SEARCH\nWIDTH = 16\n=======\nWIDTH = 3"
    trial = rig.propose(reply(cut, "max_tokens"), reply(DIFF), max_tokens=77)
    assert trial.child == CHILD
    *_, (before, shown), (last, please) = trial.server.requests[1].turns
    assert (before, shown, last) == ("assistant", cut, "user")
    assert "77 tokens" in please


def test_a_reply_cut_while_thinking_leaves_no_empty_turn(rig: Rig) -> None:
    trial = rig.propose(reply("", "max_tokens", thinking="Hm, well"), reply(DIFF))
    assert trial.child == CHILD
    first, second = (request.turns for request in trial.server.requests)
    assert len(first) == len(second)
    assert second[-1][1].startswith(first[-1][1])
    assert "cut off" in second[-1][1]


def test_a_reply_cut_twice_is_no_proposal(rig: Rig) -> None:
    trial = rig.propose(reply(DIFF, "max_tokens"), reply(DIFF, "max_tokens"), max_tokens=77)
    assert trial.failure.reason is Reason.BAD_DIFF
    assert "after 77 tokens (mutator.max_tokens)" in trial.failure.detail
    assert trial.failure.reply == DIFF
    assert trial.failure.usage is not None
    assert trial.failure.usage.calls == trial.asked == 2


def test_a_refusal_has_its_own_reason(rig: Rig) -> None:
    details = {"type": "refusal", "category": "frontier_llm", "explanation": "No training of me."}
    trial = rig.propose(reply("I can", "refusal", stop_details=details))
    assert trial.failure.reason is Reason.REFUSED
    assert "frontier_llm: No training of me." in trial.failure.detail
    assert trial.asked == 1
    assert not trial.failure.fatal


def test_a_paused_reply_is_gone_on_with(rig: Rig) -> None:
    trial = rig.propose(reply(DIFF[:30], "pause_turn"), reply(DIFF[30:]))
    assert trial.child == CHILD
    assert trial.server.requests[1].turns[-1] == ("assistant", DIFF[:30].rstrip())


def test_a_reply_that_pauses_for_ever_ends(rig: Rig) -> None:
    trial = rig.propose(*always(reply("a", "pause_turn")))
    assert trial.failure.reason is Reason.BAD_DIFF
    assert trial.asked == 4


@pytest.mark.parametrize("stop", ["end_turn", "tool_use"])
def test_an_empty_reply_says_what_it_cost(rig: Rig, stop: str) -> None:
    trial = rig.propose(reply(" \n", stop, output_tokens=13))
    assert trial.failure.reason is Reason.MUTATOR_ERROR
    assert "answered nothing, though it used 13 tokens" in trial.failure.detail
    assert trial.asked == 1


def test_only_whole_replies_are_timed_and_no_pause_between_them(rig: Rig) -> None:
    before = time.monotonic()
    trial = rig.propose(broken("x" * 300, "overloaded_error"), reply(DIFF))
    (times,) = trial.outcome.replies
    assert trial.asked == 2
    assert before < times.sent <= times.began <= times.ended < time.monotonic()
    failure = rig.propose(reply("LR", "max_tokens"), reply("Nothing comes to mind.")).failure
    assert len(failure.replies) == 2


@pytest.mark.parametrize(
    ("reported", "counted"), [(13.0, 13), (-5, 1), (True, 1), ([13], 1), (10**400, 1)]
)
def test_a_server_may_report_its_tokens_oddly(rig: Rig, reported: Any, counted: int) -> None:
    usage = rig.propose(reply(DIFF, output_tokens=reported)).outcome.usage
    assert usage is not None
    assert usage.output_tokens == counted
    assert isinstance(usage.output_tokens, int)


@pytest.mark.parametrize(
    "text",
    [
        "I would raise the learning rate a little.",
        DIFF.replace("LR = 0.1", "MOMENTUM = 0.3"),
        "\x00\ufffd<<<<<<<=======",
        DIFF.partition("=======")[0],
    ],
)
def test_a_reply_without_a_usable_change_goes_back_with_its_text(rig: Rig, text: str) -> None:
    failure = rig.propose(reply(text)).failure
    assert failure.reason is Reason.BAD_DIFF
    assert failure.detail
    assert failure.reply == text
    assert failure.usage is not None
    assert failure.usage.output_tokens == 50


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("WIDTH = 16", "WIDTH = 32", Reason.PROTECTED),
        ("LR = 0.1", "LR = = 0.2", Reason.SYNTAX),
        ("OTHER = 1", "OTHER = 2", Reason.OUT_OF_BOUNDS),
    ],
)
def test_a_reply_that_breaks_the_rules_goes_back(
    rig: Rig, old: str, new: str, reason: Reason
) -> None:
    text = f"# EVOLVE-BLOCK-START\n{FILES['train.py']}# EVOLVE-BLOCK-END\nOTHER = 1\n"
    task = make_task({"train.py": text}, protected=("WIDTH",))
    diff = f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"
    failure = rig.propose(reply(diff), task=task).failure
    assert failure.reason is reason
    assert failure.reply == diff


# -- the request -----------------------------------------------------------------------------------


def test_the_request_is_streamed_and_marks_what_comes_again(rig: Rig) -> None:
    request = rig.propose(reply(DIFF), max_tokens=64000).server.requests[0]
    assert request.headers["authorization"] == f"Bearer {SECRET}"
    body = request.body
    assert body["stream"] is True
    assert (body["model"], body["max_tokens"]) == ("claude-opus-5-5", 64000)
    assert body["thinking"] == {"type": "disabled"}
    assert body["system"][-1]["cache_control"] == {"type": "ephemeral"}
    assert not {"temperature", "tools", "output_config"} & body.keys()
    assert SECRET not in str(body)


def test_a_token_does_as_well_as_a_key(rig: Rig) -> None:
    environ = {KEY: " ", TOKEN: "a-bearer-token\n"}
    headers = rig.propose(reply(DIFF), environ=environ).server.requests[0].headers
    assert headers["authorization"] == "Bearer a-bearer-token"


def test_a_local_server_needs_no_key(rig: Rig) -> None:
    assert rig.propose(reply(DIFF), environ={KEY: ""}).child == CHILD


def test_the_vendor_needs_one() -> None:
    mutator = AnthropicMutator(MutatorSettings("anthropic"), {}, Patience())
    with pytest.raises(PrerequisiteError, match=r"`export ANTHROPIC_API_KEY=…`"):
        mutator.mutate(make_task(FILES), random.Random(0))


def test_thinking_is_adaptive_with_the_effort_asked_for(rig: Rig) -> None:
    body = rig.propose(reply(DIFF), thinking="high").server.requests[0].body
    assert body["thinking"] == {"type": "adaptive"}
    assert body["output_config"] == {"effort": "high"}


def bad(message: str) -> Step:
    return status(400, "invalid_request_error", message)


def test_a_model_before_adaptive_thinking_gets_a_budget_of_tokens(rig: Rig) -> None:
    steps = [bad("adaptive thinking is not supported on this model"), reply(DIFF)]
    trial = rig.propose(*steps, thinking="medium")
    assert trial.child == CHILD
    body = trial.server.requests[1].body
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 4096}
    assert "output_config" not in body


def test_thinking_that_cannot_be_had_stops_the_run(rig: Rig) -> None:
    refused = bad("thinking is not supported on this model")
    with pytest.raises(PrerequisiteError, match=r"mutator\.thinking is low; expected another"):
        rig.propose(*always(refused), thinking="low")
    assert len(rig.servers[0].requests) == 2


def test_thinking_that_cannot_be_switched_off_is_left_to_the_model(rig: Rig) -> None:
    trial = rig.propose(bad("thinking: disabled is not allowed for this model"), reply(DIFF))
    assert trial.child == CHILD
    assert "thinking" not in trial.server.requests[1].body


def test_what_a_server_does_not_know_is_left_out(rig: Rig) -> None:
    trial = rig.propose(bad("unknown field: system[0].cache_control"), reply(DIFF))
    assert trial.child == CHILD
    first, second = trial.server.requests
    assert "cache_control" in str(first.body)
    assert "cache_control" not in str(second.body)
    assert second.body["thinking"] == first.body["thinking"]
    assert second.turns == first.turns
    assert trial.waits == []


def test_a_server_that_says_nothing_useful_is_asked_ever_more_plainly(rig: Rig) -> None:
    unclear = status(422, "error", "unprocessable")
    trial = rig.propose(unclear, unclear, reply(DIFF))
    assert trial.child == CHILD
    assert trial.server.requests[2].body.keys() == {
        "model",
        "max_tokens",
        "messages",
        "system",
        "stream",
    }
    assert rig.propose(*always(unclear)).failure.reason is Reason.MUTATOR_ERROR
    assert len(rig.servers[1].requests) == 3


# -- a service that is unwell ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "trouble",
    [
        status(429, "rate_limit_error", "slow down"),
        status(500, "api_error", "internal"),
        status(503, "api_error", "loading model"),
        status(529, "overloaded_error", "Overloaded"),
        status(408, "timeout_error", "too slow"),
        broken(DIFF, "overloaded_error"),
        broken("", "api_error"),
        broken(DIFF, "rate_limit_error"),
        dropped(DIFF),
        dropped(""),
        ended(DIFF),
        ended(""),
        raw("<html>a portal wants you to log in</html>", "text/html"),
        raw("event: message_start\ndata: {not json\n\n"),
        raw('event: content_block_delta\ndata: {"type": "content_block_delta"}\n\n'),
        raw('event: message_start\ndata: {"type": "message_start"}\n\n'),
        raw(""),
    ],
)
def test_trouble_is_waited_out_and_the_half_reply_thrown_away(rig: Rig, trouble: Step) -> None:
    trial = rig.propose(trouble, trouble, reply(DIFF))
    assert trial.child == CHILD
    assert trial.asked == 3
    first, second = trial.waits
    assert 0.5 <= first <= 1.0 <= second <= 2.0
    assert trial.server.requests[0].body == trial.server.requests[2].body


def test_what_a_broken_reply_used_is_counted(rig: Rig) -> None:
    usage = rig.propose(broken("x" * 300, "overloaded_error"), reply(DIFF)).outcome.usage
    assert usage is not None
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (2, 2000, 150)


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (status(529, "overloaded_error", "Overloaded"), "answered 529: Overloaded; tried 5 times"),
        (broken("", "overloaded_error", "Busy"), "broke off its reply: Busy; tried 5 times"),
        (dropped(DIFF), "the connection to 127.0.0.1 failed"),
        (ended(DIFF), "ended its stream before the reply was whole"),
    ],
)
def test_a_service_that_stays_down_is_no_childs_fault(rig: Rig, trouble: Step, words: str) -> None:
    trial = rig.propose(*always(trouble))
    assert trial.failure.reason is Reason.ENVIRONMENT
    assert not trial.failure.fatal
    assert words in trial.failure.detail
    assert trial.asked == 5


def test_nothing_listens_there(rig: Rig) -> None:
    trial = rig.propose(environ={BASE_URL: "http://127.0.0.1:9"})
    assert trial.failure.reason is Reason.ENVIRONMENT
    assert "Connection refused" in trial.failure.detail
    assert len(trial.waits) == 4


@pytest.mark.parametrize("code", [429, 503])
def test_the_wait_a_server_asks_for_is_kept(rig: Rig, code: int) -> None:
    trial = rig.propose(status(code, "rate_limit_error", "", retry_after="7"), reply(DIFF))
    assert trial.child == CHILD
    assert 7.5 <= trial.waits[0] <= 8.0


def test_a_wait_beyond_the_timeout_is_not_begun(rig: Rig) -> None:
    trial = rig.propose(status(429, "rate_limit_error", "slow down", retry_after="3600"))
    assert trial.failure.reason is Reason.ENVIRONMENT
    assert "after mutator.timeout" in trial.failure.detail
    assert (trial.asked, trial.waits) == (1, [])


@pytest.mark.parametrize("words", ["", "SEARCH"])
def test_a_silent_server_is_given_up_in_time(rig: Rig, words: str) -> None:
    trial = rig.propose(hang(words), timeout=0.6)
    assert trial.failure.reason is Reason.ENVIRONMENT
    assert trial.asked == 1


def test_an_error_delivered_as_the_answer_is_the_services(rig: Rig) -> None:
    error = reply("API Error: Rate limit reached", output_tokens=0)
    trial = rig.propose(error, reply(DIFF))
    assert trial.child == CHILD
    assert len(trial.waits) == 1
    trial = rig.propose(*always(error))
    assert trial.failure.reason is Reason.ENVIRONMENT
    assert trial.asked == 5


# -- what no further proposal can mend -------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (status(401, "authentication_error", "invalid x-api-key"), "401: invalid.*export ANTHROP"),
        (status(403, "permission_error", "not for you"), "403: not for you.*another model"),
        (status(404, "not_found_error", "model: claude-opus-5-5"), "now claude-opus-5-5.*serves"),
        (status(402, "billing_error", "no funds"), "402: no funds.*Mend the account"),
        (bad("Your credit balance is too low"), "credit balance.*Mend the account"),
        (bad("model 'x' not found"), "Set mutator.model"),
        (bad("max_tokens: 8192 > 4096"), "mutator.max_tokens is 8192; expected another"),
        (broken("", "authentication_error", "revoked"), "broke off its reply: revoked"),
    ],
)
def test_a_wrong_key_or_setting_is_one_error_at_once(rig: Rig, step: Step, message: str) -> None:
    with pytest.raises(PrerequisiteError, match=message) as caught:
        rig.propose(*always(step))
    assert len(rig.servers[0].requests) == 1
    assert caught.value.exit_code == 3


def test_no_error_shows_the_key(rig: Rig) -> None:
    with pytest.raises(PrerequisiteError) as caught:
        rig.propose(status(401, "authentication_error", f"no such key: {SECRET}"))
    assert "[hidden]" in str(caught.value)
    assert SECRET not in str(caught.value)
    failure = rig.propose(*always(status(500, "api_error", f"x-api-key {SECRET}"))).failure
    assert SECRET not in failure.detail


def test_a_request_that_is_refused_for_its_content_is_this_childs(rig: Rig) -> None:
    failure = rig.propose(*always(bad("messages.0: odd text"))).failure
    assert failure.reason is Reason.MUTATOR_ERROR
    assert "odd text" in failure.detail
    filtered = bad("Output blocked by content filtering policy")
    assert rig.propose(filtered).failure.reason is Reason.REFUSED


# -- a prompt that does not fit --------------------------------------------------------------------


def long_task(parent: str = FILES["train.py"]) -> Task:
    other = {"train.py": "".join(f"A_{n} = {n}\n" for n in range(60))}
    return make_task({"train.py": parent}, inspirations=[(other, 0.6), (other, 0.7)])


@pytest.mark.parametrize(
    "full",
    [
        bad("prompt is too long: 231004 tokens > 200000 maximum"),
        bad("the request exceeds the available context size, try increasing it"),
        status(413, "request_too_large", "Request exceeds the maximum size"),
        reply("LR", "model_context_window_exceeded"),
    ],
)
def test_a_prompt_that_is_too_long_is_cut_once(rig: Rig, full: Step) -> None:
    trial = rig.propose(full, reply(DIFF), task=long_task())
    assert trial.child == CHILD
    first, second = (sum(len(t) for _, t in request.turns) for request in trial.server.requests)
    assert second < first
    assert trial.waits == []
    trial = rig.propose(*always(full), task=long_task())
    assert trial.failure.reason is Reason.MUTATOR_ERROR
    assert trial.asked == 2


def test_a_prompt_that_cannot_be_cut_is_not_sent_again(rig: Rig) -> None:
    program = "".join(f"A_{n} = {n}\n" for n in range(3000))
    full = bad("prompt is too long: 231004 tokens > 200000 maximum")
    trial = rig.propose(*always(full), task=long_task(program))
    assert trial.failure.reason is Reason.MUTATOR_ERROR
    assert "231004" in trial.failure.detail
    assert trial.asked == 1


# -- money -----------------------------------------------------------------------------------------


def test_no_call_is_made_that_could_pass_the_bound(rig: Rig) -> None:
    costly = reply(DIFF, "max_tokens", output_tokens=9_000)
    trial = rig.propose(costly, reply(DIFF), max_cost_usd=1.0, max_tokens=4096)
    assert trial.failure.reason is Reason.MUTATOR_ERROR
    assert "mutator.max_cost_usd could be passed" in trial.failure.detail
    assert trial.asked == 1


def test_a_limit_in_money_needs_a_price(rig: Rig) -> None:
    with pytest.raises(ConfigError, match="price of 'qwen' is not in the table"):
        rig.propose(reply(DIFF), model="qwen", max_cost_usd=1.0)
    assert rig.servers[0].requests == []


@pytest.mark.parametrize("model", ["claude-opus-5-5", "qwen"])
def test_a_slow_reply_ends_with_the_setting_to_change(rig: Rig, model: str) -> None:
    failure = rig.propose(trickle("x"), timeout=0.5, model=model).failure
    assert failure.reason is Reason.MUTATOR_ERROR
    assert "mutator.timeout (0.5 s)" in failure.detail
    assert failure.usage is not None
    assert failure.usage.calls == 1
