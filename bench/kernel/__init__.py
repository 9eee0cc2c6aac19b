"""The rules alone, on one core: random matches played and replayed, beside the card games of two public packages."""
