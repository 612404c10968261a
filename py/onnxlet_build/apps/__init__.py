"""Apps for models that come alone: a few lines that run, for the person to copy and edit.

`write_app` exports a model, finds out what it is for (`recognize.py`) and lets that task's file here write the app.
"""

from .options import Wanted, flag
from .recognize import Found, recognize_task
from .registry import TASKS, Task
from .subject import Subject
from .write import keep, name_of, open_subject, refuse_changed, write_app

__all__ = [
    "TASKS",
    "Found",
    "Subject",
    "Task",
    "Wanted",
    "flag",
    "keep",
    "name_of",
    "open_subject",
    "recognize_task",
    "refuse_changed",
    "write_app",
]
