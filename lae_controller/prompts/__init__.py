"""What a model is told about one child: a task as text, within a budget of tokens.

A backend calls ``build_prompt`` and sends what it returns; nothing here knows of a service.
"""

from lae_controller.prompts.build import agent_prompt, build_prompt
from lae_controller.prompts.turns import Prompt, Turn, estimate_tokens

__all__ = ["Prompt", "Turn", "agent_prompt", "build_prompt", "estimate_tokens"]
