"""Every way in which the service says no: one catalogue for rules, problem responses and scenarios.

A code is stable: clients may switch on it. Each has an HTTP status, a title, and one sentence that says
what to do about it.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class ProblemKind(Struct, frozen=True):
    """One entry of the catalogue."""

    code: str
    status: int
    title: str
    advice: str


def _catalogue(*kinds: ProblemKind) -> dict[str, ProblemKind]:
    return {kind.code: kind for kind in kinds}


RULE_PROBLEMS: Final = _catalogue(
    ProblemKind("match-over", 409, "The match is over", "Look at the record, or play another."),
    ProblemKind("already-out", 409, "You already have a place in this match", "Nothing is left to do."),
    ProblemKind("not-your-turn", 409, "It is not your turn", "Wait until the match names your seat in to_act."),
    ProblemKind("move-not-offered", 422, "This game has no such move now", "legal lists what can be played."),
    ProblemKind("must-roll-first", 409, "The first roll is compulsory", "Roll at least once before you stand."),
    ProblemKind("stake-out-of-range", 422, "The stake is outside its range", "legal gives the smallest and the largest stake."),
    ProblemKind("card-not-in-hand", 422, "You do not hold this card", "Lay cards of your own hand, each as often as you hold it."),
    ProblemKind("card-does-not-fit", 422, "This card does not fit", "The clause says what may be laid now; legal lists it."),
    ProblemKind("cards-not-together", 422, "These cards do not go in one play", "Lay one card, or several of one rank where the table plays so."),
    ProblemKind("suit-missing", 422, "An ace calls a suit", "Send suit with the play: C, D, H or S."),
    ProblemKind("suit-not-offered", 422, "This card calls no suit", "Send suit with an ace only."),
    ProblemKind("draw-not-offered", 422, "You cannot draw now", "legal lists what can be done instead."),
    ProblemKind("already-drew", 422, "You have drawn in this turn", "Lay a card, or pass."),
    ProblemKind("must-draw-first", 422, "You cannot pass before drawing", "Draw a card, or lay one."),
    ProblemKind("nothing-to-take", 422, "No penalty is open", "Lay a card, or draw."),
    ProblemKind("nothing-to-sit-out", 422, "There is nothing to sit out", "Lay a card, or draw."),
    ProblemKind("call-not-owed", 409, "Nobody waits for this call", "Call when legal lists it, and send a play without it otherwise."),
    ProblemKind("not-catchable", 409, "This player cannot be caught now", "Watch for catchable in the view."),
)  # fmt: skip
"""What the rules of the games refuse with; each comes with a clause."""

PROBLEMS: Final = RULE_PROBLEMS | _catalogue(
    # What a client sent could not be read.
    ProblemKind("malformed-request", 400, "The request cannot be read", "Compare the body, the parameters and the headers with what the endpoint takes."),
    ProblemKind("unsupported-media-type", 415, "The body is not plain JSON", "Send Content-Type: application/json, in UTF-8 and without a Content-Encoding."),
    ProblemKind("body-too-large", 413, "The body is too large", "No request of this API needs more than 64 KiB."),
    ProblemKind("body-too-slow", 408, "The body did not arrive in time", "Send the whole body within 30 seconds, and try again with the same Idempotency-Key."),
    ProblemKind("head-too-large", 431, "The head of the request is too large", "No request of this API needs more than 64 KiB of headers."),
    ProblemKind("not-found", 404, "There is nothing here", "Check the id and the path."),
    ProblemKind("method-not-allowed", 405, "This method is not offered here", "The Allow header lists the methods."),
    ProblemKind("idempotency-key-missing", 400, "A write needs an Idempotency-Key", "Send a fresh random key with every new command, and the same key with its retries."),
    ProblemKind("idempotency-key-malformed", 400, "The Idempotency-Key cannot be used", "Use 1 to 128 characters from A-Z a-z 0-9 . _ : - and, where no token is sent, at least 20 random ones."),
    ProblemKind("idempotency-key-reused", 422, "The Idempotency-Key was used for another request", "Use a fresh key for a new command."),
    ProblemKind("version-missing", 428, "A move needs If-Match", 'Send If-Match: "<version>" with the version that the move was chosen at.'),
    ProblemKind("stale-version", 412, "The match has moved on", "Read the match again and decide anew."),
    # Who is asking.
    ProblemKind("unauthenticated", 401, "No valid token", "Send Authorization: Bearer <token>; POST /v1/players gives one."),
    ProblemKind("forbidden", 403, "The token does not allow this", "Use a token with the scope that the endpoint names."),
    ProblemKind("name-invalid", 422, "This name cannot be used", "params.rule says which rule it breaks; docs/players.md has them all."),
    ProblemKind("name-taken", 409, "Another account has this name, or one that looks like it", "Choose another name."),
    ProblemKind("password-invalid", 422, "This password cannot be used", "params.rule says why: length, common or name."),
    ProblemKind("already-account", 409, "This player is an account already", "Sign in with POST /v1/tokens; PUT /v1/players/me/password changes the password."),
    ProblemKind("not-account", 409, "This player has no password", "Add one with POST /v1/players/me/credential."),
    ProblemKind("credentials-wrong", 401, "Name or password is not right", "Check both; a guest that added no password has none."),
    ProblemKind("sign-in-needed", 403, "This needs a token of a session", "Use the token that POST /v1/players, /v1/tokens or /v1/tokens/refresh gave; a named token cannot do this."),
    ProblemKind("too-many-tokens", 409, "You have as many named tokens as there may be", "Revoke one that is no longer needed."),
    ProblemKind("refresh-token-invalid", 401, "The refresh token is not valid", "Sign in with POST /v1/tokens, or ask for a new guest with POST /v1/players."),
    # Tables.
    ProblemKind("unknown-game", 404, "There is no such game", "GET /v1/games lists the games."),
    ProblemKind("options-invalid", 422, "The options do not fit the game", "The clause and the parameters say which option, and why."),
    ProblemKind("seats-invalid", 422, "The game is not played with so many", "GET /v1/games/{game} gives the range."),
    ProblemKind("table-closed", 409, "The table is closed", "Open another, or ask for a quick match."),
    ProblemKind("match-running", 409, "A match is running at this table", "Wait until it has ended."),
    ProblemKind("seat-taken", 409, "The seat is taken", "Choose a free seat, or none to get any."),
    ProblemKind("table-full", 409, "Every seat is taken", "Choose another table."),
    ProblemKind("already-seated", 409, "You already sit at this table", "Leave first to change seats."),
    ProblemKind("not-seated", 409, "You do not sit at this table", "Join the table first."),
    ProblemKind("not-host", 403, "Only the host may do this", "Ask the host, or open a table of your own."),
    ProblemKind("seats-empty", 409, "Not every seat is taken", "Wait for players, or change the number of seats."),
    ProblemKind("invite-code-wrong", 403, "The invitation code is not right", "Ask the host for the code of this table."),
    ProblemKind("seed-invalid", 422, "This seed cannot be used", "Use up to 64 characters from A-Z a-z 0-9 _ and -"),
    ProblemKind("no-such-seat", 422, "There is no such seat", "Seats are numbered from 0; the table, or the match, lists them."),
    ProblemKind("seat-free", 409, "Nobody sits there", "Look at the table again."),
    ProblemKind("seats-in-use", 409, "Somebody sits on a seat that would go", "Remove the player first, or keep more seats."),
    ProblemKind("host-unfit", 422, "This player cannot become the host", "Name another person who sits at the table."),
    ProblemKind("bot-matches-many", 409, "You have as many matches with bots running as one player may have", "Finish one, or leave it, and ask again."),
    ProblemKind("quick-match-filling", 409, "Quick match is still filling this table", "Leave, or wait: it starts by itself, and after its first match the host decides."),
    # Matches, outside the rules of a game.
    ProblemKind("not-a-player", 403, "You do not sit in this match", "Watch it, or join the table for the next match."),
    ProblemKind("match-not-over", 409, "The match is still running", "The record and the audit are there when it has ended."),
    ProblemKind("not-sealed", 409, "The log is not sealed that far yet", "Ask again in a few seconds; params.size is how far it is sealed."),
    ProblemKind("match-damaged", 409, "What the log holds of this match is not whole", "GET /v1/matches/{id}/audit names the first event that is wrong; tell the operator."),
    # Disputes.
    ProblemKind("no-such-event", 422, "The match has no such event", "version is that of an event: 1 up to the match's present version."),
    ProblemKind("text-unusable", 422, "This text cannot be kept", "Write letters, signs and line feeds, and at least one that shows."),
    ProblemKind("no-such-refusal", 422, "No command of yours was refused under this key", "Send the Idempotency-Key of the command that was refused; the commands log keeps it for a while."),
    ProblemKind("dispute-exists", 409, "You dispute this already", "GET /v1/matches/{id}/disputes lists your disputes; withdraw the open one to word it anew."),
    ProblemKind("disputes-exhausted", 409, "You have disputed this match as often as you may", "Wait for the rulings on the disputes that there are."),
    ProblemKind("dispute-too-late", 409, "The time to dispute this match is over", "A match can be disputed while it runs and for a week after its end."),
    ProblemKind("match-void", 409, "The match does not count any more", "Nothing is left to dispute: its result is void."),
    ProblemKind("dispute-closed", 409, "The dispute is closed", "It was withdrawn or ruled on; GET /v1/disputes/{id} says which."),
    ProblemKind("not-your-dispute", 403, "This is somebody else's dispute", "Only who complained can withdraw the complaint."),
    ProblemKind("auditor-seated", 403, "You sat in this match", "Leave the ruling to an auditor who did not play."),
    ProblemKind("ruling-contradictory", 422, "A dismissed complaint voids nothing", "Uphold the complaint to void the match, or let the match stand."),
    # Operations.
    ProblemKind("release-failed", 409, "A parked stream still cannot be worked off", "detail says why; mend that, and release it again. Nothing of the stream was applied."),
    # The service itself.
    ProblemKind("rate-limited", 429, "Too many requests", "Wait as long as Retry-After says."),
    ProblemKind("too-many-streams", 429, "Too many streams are open", "Close one that is no longer needed; one stream of a match serves any number of views."),
    ProblemKind("unavailable", 503, "The service cannot do this just now", "Try again with the same Idempotency-Key."),
    ProblemKind("internal-error", 500, "Something went wrong here", "Try again with the same Idempotency-Key; if it stays, report the request_id."),
)  # fmt: skip
