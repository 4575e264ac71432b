"""The ledger: what people say of pictures, never overwritten, and what follows from it."""

from regrade.ledger.ledger import Ledger
from regrade.ledger.overview import Progress
from regrade.ledger.records import (
    Ballot,
    Comment,
    Decision,
    Item,
    NewItem,
    Person,
    Question,
    Queue,
    Role,
    Vote,
)

__all__ = [
    "Ballot",
    "Comment",
    "Decision",
    "Item",
    "Ledger",
    "NewItem",
    "Person",
    "Progress",
    "Question",
    "Queue",
    "Role",
    "Vote",
]
