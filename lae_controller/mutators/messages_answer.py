"""One reply of the Messages API, gathered from the events of its stream."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lae_controller.prices import cost_of, price_of
from lae_controller.program import Usage
from lae_controller.quantities import reported_count

if TYPE_CHECKING:
    from anthropic.types import (
        MessageDeltaUsage,
        RawMessageDeltaEvent,
        RawMessageStreamEvent,
    )
    from anthropic.types import Usage as ApiUsage

_CHARS_A_TOKEN = 3.0


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole reply.

    Attributes:
        text: its text blocks; thinking and calls of tools, which were not offered, are left out.
        stop_reason: as the API names it.
        refusal: category and explanation where it was refused.
        output_tokens: thinking included.
    """

    text: str
    stop_reason: str
    refusal: str
    output_tokens: int


class Arriving:
    """A reply while it comes in; what it has used is known at every moment."""

    def __init__(self, model: str) -> None:
        self._asked = model
        self._model = model
        self._text: list[str] = []
        self._hidden = 0
        self._stop_reason: str | None = None
        self._refusal = ""
        self._input = self._cache_read = self._cache_write = self._output = 0
        self.begun = False
        self._ended = False

    def take(self, event: RawMessageStreamEvent) -> None:
        """Add one event; kinds that are not known are passed over."""
        if event.type == "message_start":
            self.begun = True
            self._model = str(event.message.model or self._asked)
            self._count(event.message.usage)
        elif event.type == "content_block_start" and event.content_block.type == "text":
            self._text.append(event.content_block.text)
        elif event.type == "content_block_delta":
            if event.delta.type == "text_delta":
                self._text.append(event.delta.text)
            elif event.delta.type == "thinking_delta":
                self._hidden += len(event.delta.thinking)
        elif event.type == "message_delta":
            self._finish(event)
        elif event.type == "message_stop":
            self._ended = True

    def _finish(self, event: RawMessageDeltaEvent) -> None:
        self._stop_reason = event.delta.stop_reason or self._stop_reason
        self._count(event.usage)
        details = event.delta.stop_details
        if details is not None:
            self._refusal = ": ".join(filter(None, [details.category, details.explanation]))

    def _count(self, usage: ApiUsage | MessageDeltaUsage) -> None:
        """Take over the totals so far; later ones replace earlier ones, missing ones do not."""
        self._input = reported_count(usage.input_tokens) or self._input
        self._cache_read = reported_count(usage.cache_read_input_tokens) or self._cache_read
        self._cache_write = reported_count(usage.cache_creation_input_tokens) or self._cache_write
        self._output = reported_count(usage.output_tokens) or self._output

    def answer(self) -> Answer | None:
        """Return the reply; None if the stream ended before it did."""
        if not self.begun or not (self._ended or self._stop_reason):
            return None
        text = "".join(self._text)
        return Answer(text, self._stop_reason or "end_turn", self._refusal, self._output)

    def usage(self) -> Usage:
        """Return what was used so far, and its cost; of a reply cut off, as far as is known."""
        output = self._output
        if self._stop_reason is None:  # no total came
            shown = self._hidden + sum(map(len, self._text))
            output = max(output, int(shown / _CHARS_A_TOKEN))
        used = Usage(self._model, 1, self._input, self._cache_read, self._cache_write, output)
        priced = self._model if price_of(self._model) else self._asked
        return replace(used, cost_usd=cost_of(priced, used))
