"""Bound Discord channels and their memory."""
