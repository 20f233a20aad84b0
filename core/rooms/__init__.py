"""Rooms: an instructor leads, followers see the same view and answer questions; nobody has a name, nothing is kept.

A room is a code of four letters, the view that its instructor shows, and at most one question with its answers. It
lives in this process, or in Redis where ``ATLAS_REDIS_URL`` names one, so that the processes of an installation share
it; it is deleted when its instructor ends it or has been away for half an hour.
"""

from core.rooms.room import MAX_ANSWER, MAX_QUESTION, Question, Room, View, clean
from core.rooms.service import POLL, Rooms, rooms, spelled

__all__ = ["MAX_ANSWER", "MAX_QUESTION", "POLL", "Question", "Room", "Rooms", "View", "clean", "rooms", "spelled"]
