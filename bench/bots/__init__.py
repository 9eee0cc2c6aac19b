"""How much better ``sharp`` plays than ``casual``, and how long the bots think."""
