"""The echo of a prefill: words put into a model's mouth, which some models say once more."""


class Prefill:
    """Takes the echo off the start of an answer, once, also where it comes in several pieces."""

    def __init__(self, text: str) -> None:
        self._awaited = text.strip()
        self._taken = ""  # so far; given back if the echo does not go on

    def without(self, text: str) -> str:
        said = text.strip()
        if not self._awaited or not said:
            return text
        if said.startswith(self._awaited):
            echo = len(text) - len(text.lstrip()) + len(self._awaited)
            self._awaited = self._taken = ""
            return text[echo:]
        if self._awaited.startswith(said):
            self._taken += text
            self._awaited = self._awaited[len(said) :].lstrip()
            return ""
        return self.rest() + text

    def rest(self) -> str:
        """Give back what was taken of an echo that is not whole; nothing is awaited any more."""
        taken, self._taken, self._awaited = self._taken, "", ""
        return taken
