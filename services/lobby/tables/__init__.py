"""Tables.

``table`` folds, ``orders`` are what can be asked, ``deciding`` decides; ``desk`` carries out, ``board`` lists,
``keeper`` sees matches begin and end; ``quick`` seats strangers, ``filling`` starts their tables, ``bots`` names bots.
"""
