"""What a participant is sent: pure functions from what was said to a prompt."""
