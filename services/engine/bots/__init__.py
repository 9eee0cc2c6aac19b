"""Bots: opponents that see what their seat sees, and move as people do.

The pure part is a function for each game and level, and what it is given:

- `bot.Situation` is all that a bot may know: the options, its seat, ``observe(state, seat)``, the seat's legal moves
  as a client gets them, who is waited for, and the facts of the running round or deal as ``redact(fact, seat)`` shows
  them. It is built in one place only, `situation.situation`, from a match and a seat.
- `bot.Bot` is one game at one level: ``choose(situation, chance)`` returns a move, or None.
- `catalogue.BOTS` lists them, a line each, and has an answer for every game and level: where nobody has written a bot,
  `fallback` plays random legal moves.

What a bot's ``choose`` has to hold to:

- It is **pure**: the same situation and the same random source give the same move. No clock, no state between calls (a
  cache of things worked out is none), no other source of chance than ``chance``, a ``random.Random`` of this decision
  alone. What has to be remembered is in ``situation.history``, which begins with the ``round-started`` of the running
  round or deal.
- It returns a **move that may be sent**, so for a `StakeRange` among the legal ones a ``Stake`` within it. Several
  cards may be laid in any order that the rules allow, also one that ``legal`` does not list. Leaving is not a choice.
- **On turn** (``situation.on_turn``) it returns a move. Beside its turn it is asked as well when it has legal moves,
  that is a call or a catch; there None means to let it be. It is asked again at every version of the match; the
  service waits before it sends what the bot wants (at least three seconds for a catch, G15), and sends it only if the
  bot still wants it then.
- It may take **some milliseconds**: it runs in a process beside the service, 50 ms is the limit at the 99th
  percentile. Situation and move travel there and back, so ``choose`` is a function of a module.

To add one: ``services/engine/bots/GAME.py`` with its two functions, and its lines in `catalogue`. Everything else
(bench, capture test, whole matches in the service) goes through the catalogue.

The service part finds running matches with bots in the log (`roster`), shares them among the engine processes by leases
(`leases`), and plays each (`player`) through the command path of people; `runner` keeps that going. Bots think in a
process of their own (`thinking`, `workshop`), at the pace of people (`pace`).
"""
