"""What a model answered, read as one change to the parent's files."""

from lae_controller.replies.read import Reply, read_reply
from lae_controller.replies.stated import Stated, read_stated

__all__ = ["Reply", "Stated", "read_reply", "read_stated"]
