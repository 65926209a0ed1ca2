"""The Mutator that asks a model through the Messages API."""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lae_controller.change.diff import apply_change
from lae_controller.change.protected import check_protected
from lae_controller.change.syntax import check_syntax
from lae_controller.config import MutatorSettings
from lae_controller.errors import ChildError, PrerequisiteError
from lae_controller.mutators.backoff import Patience
from lae_controller.mutators.cost_limit import (
    PROMPT_TOKENS,
    check_cost_limit,
    most_tokens,
    worst_try,
)
from lae_controller.mutators.deadline import Deadline, OutOfTime, usable
from lae_controller.mutators.environment import check_key
from lae_controller.prices import DEFAULT_MODEL
from lae_controller.program import Reason
from lae_controller.prompts import Prompt, Turn, build_prompt
from lae_controller.replies import Reply, read_reply
from lae_controller.task import Mutation, MutatorFailure, Task

if TYPE_CHECKING:
    from lae_controller.mutators.messages_answer import Answer
    from lae_controller.mutators.messages_service import Service

_PAUSES = 3  # times a reply that was paused is gone on with
_CUT = (
    "Your reply was cut off after {limit} tokens, so nothing of it was used. "
    "Reply once more, whole and much shorter: one smaller change and no explanations."
)


def make(settings: MutatorSettings) -> AnthropicMutator:
    """Return the Mutator, with key and address from the environment of this process."""
    return AnthropicMutator(settings, os.environ, Patience())


class AnthropicMutator:
    """Asks for one change; what goes wrong is waited out, asked for anew or given a reason."""

    def __init__(
        self, settings: MutatorSettings, environ: Mapping[str, str], patience: Patience
    ) -> None:
        self._settings = settings
        self._environ = environ
        self._patience = patience
        self._deadline = Deadline.after(usable(settings.timeout))

    def mutate(self, task: Task, rng: random.Random) -> Mutation | MutatorFailure:
        """Return one proposed change, or why there is none.

        Raises:
            ConfigError, PrerequisiteError: if no proposal at all could succeed.
        """
        check_cost_limit(self._settings)
        check_key(self._settings, self._environ)
        with contextlib.closing(self._service(rng)) as service:
            talk = _Talk(task, self._settings, service)
            try:
                reply = talk.propose()
            except ChildError as error:
                return _failure(error.reason, error.detail, talk, service)
            except OutOfTime:
                late = f"no answer within {self._settings.timeout:g} s"
                return _failure(Reason.ENVIRONMENT, late, talk, service)
            return Mutation(
                reply.change,
                reply.summary,
                reply.intervention,
                "-",
                reply=talk.text,
                usage=service.usage,
                promise=reply.promise,
                repaired=reply.repaired,
                replies=service.replies,
            )

    def _service(self, rng: random.Random) -> Service:
        try:
            from lae_controller.mutators.messages_service import Service
        except ImportError as error:
            raise PrerequisiteError(
                f"the package {error.name} is missing; `pip install anthropic` cures it"
            ) from None
        return Service(self._settings, self._environ, self._deadline, rng, self._patience)


def _failure(reason: Reason, detail: str, talk: _Talk, service: Service) -> MutatorFailure:
    return MutatorFailure(reason, detail, talk.text, service.usage, replies=service.replies)


def _check(task: Task, change: str) -> None:
    """Check what the form of a reply does not show.

    Raises:
        ChildError: SYNTAX or PROTECTED.
    """
    after = apply_change(task.files, change, editable=task.editable).files
    check_syntax(task.files, after)
    check_protected(task.files, after, task.protected)


class _Talk:
    """The conversation about one child.

    Attributes:
        text: the model's last reply; empty before the first.
    """

    def __init__(self, task: Task, settings: MutatorSettings, service: Service) -> None:
        self._task = task
        self._settings = settings
        self._service = service
        self.text = ""

    def propose(self) -> Reply:
        """Ask until there is a whole reply, and read it.

        Raises:
            ChildError: with the reason why there will be none.
        """
        task, settings = self._task, self._settings
        while True:
            self.text = self._whole()
            try:
                reply = read_reply(self.text, task.files, task.editable, settings.reply)
            except ChildError as error:
                if error.reason is not Reason.ENVIRONMENT:
                    raise
                self._service.wait(f"the service delivered an error as its answer: {error.detail}")
            else:
                _check(task, reply.change)
                return reply

    def _whole(self) -> str:
        """Return a reply to the task; with a shorter prompt if the first one does not fit."""
        from lae_controller.mutators.messages_errors import PromptTooLong

        prompt = build_prompt(self._task, self._settings, token_limit=PROMPT_TOKENS)
        self._limit_money(prompt)
        try:
            return self._answered(prompt)
        except PromptTooLong as error:
            shorter = self._shorter(prompt, error.share)
            if shorter is None:
                raise ChildError(Reason.MUTATOR_ERROR, str(error)) from None
        try:
            return self._answered(shorter)
        except PromptTooLong as error:
            raise ChildError(
                Reason.MUTATOR_ERROR, f"{error}; also without {', '.join(shorter.dropped)}"
            ) from None

    def _shorter(self, prompt: Prompt, share: float) -> Prompt | None:
        """Return a prompt of about this share; None if the code alone is longer than that."""
        for part in (share, (1 + share) / 2):
            limit = int(prompt.tokens * part)
            with contextlib.suppress(ChildError):
                return build_prompt(self._task, self._settings, token_limit=limit)
        return None

    def _limit_money(self, prompt: Prompt) -> None:
        settings = self._settings
        if settings.max_cost_usd is not None:
            tokens = most_tokens(prompt.system, prompt.turns)
            model = settings.model or DEFAULT_MODEL
            self._service.spendable_usd = worst_try(model, tokens, settings.max_tokens)

    def _answered(self, prompt: Prompt) -> str:
        """Return a reply that was not cut off."""
        answer = self._gone_on_with(prompt.system, prompt.turns)
        if answer.stop_reason == "max_tokens":
            answer = self._gone_on_with(prompt.system, self._asked_for_less(prompt, answer))
        if answer.stop_reason == "max_tokens":
            raise ChildError(
                Reason.BAD_DIFF,
                f"the reply was cut off twice after {self._settings.max_tokens} tokens "
                "(mutator.max_tokens), so nothing of it was used; expected a smaller change",
            )
        if not self.text.strip():
            raise ChildError(
                Reason.MUTATOR_ERROR,
                f"the model answered nothing, though it used {answer.output_tokens} tokens",
            )
        return self.text

    def _asked_for_less(self, prompt: Prompt, answer: Answer) -> tuple[Turn, ...]:
        please = _CUT.format(limit=self._settings.max_tokens)
        if answer.text.strip():
            return (*prompt.turns, Turn("assistant", answer.text.rstrip()), Turn("user", please))
        last = prompt.turns[-1]  # all was spent on thinking: there is no reply to point at
        return (*prompt.turns[:-1], Turn("user", f"{last.text}\n\n{please}", last.cacheable))

    def _gone_on_with(self, system: str, turns: tuple[Turn, ...]) -> Answer:
        """Return a reply after all its pauses; its whole text is kept.

        Raises:
            ChildError: REFUSED.
            PromptTooLong: if the context was full before the reply ended.
        """
        from lae_controller.mutators.messages_errors import PromptTooLong

        self.text, pauses = "", 0
        while True:
            heard = (Turn("assistant", self.text.rstrip()),) if self.text.strip() else ()
            answer = self._service.ask(system, (*turns, *heard))
            self.text += answer.text
            if answer.stop_reason == "refusal":
                about = answer.refusal or "no reason given"
                raise ChildError(Reason.REFUSED, f"the model refused: {about}")
            if answer.stop_reason == "model_context_window_exceeded":
                raise PromptTooLong("the model's context was full before its reply ended")
            if answer.stop_reason != "pause_turn" or pauses == _PAUSES:
                return answer
            pauses += 1
