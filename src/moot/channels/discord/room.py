"""Who is in a channel when an answer is given there."""

from msgspec import Struct

from moot.channels.discord.mentions import Member


class Room(Struct, frozen=True, kw_only=True):
    """Who speaks, who else is at the table, and who can be mentioned in the channel."""

    speaker: str
    others: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()

    def names(self) -> list[str]:
        return [self.speaker, *self.others, *(name for member in self.members for name in member.names)]
