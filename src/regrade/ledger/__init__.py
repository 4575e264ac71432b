"""The ledger: an append-only database of people's votes on images, with discussions and decisions."""

from regrade.ledger.accounts import Accounts, OpenAccount
from regrade.ledger.answers import ANSWERS
from regrade.ledger.assignment import may_answer
from regrade.ledger.browser_sessions import BrowserSessions
from regrade.ledger.chain import ChainLink
from regrade.ledger.decisions import panel_decision
from regrade.ledger.discussion import Discussion, Discussions, Stage, Topic, TopicFilter
from regrade.ledger.guide import Guide, GuideEntry, GuideText
from regrade.ledger.independent_votes import IndependentVote
from regrade.ledger.ledger import Ledger
from regrade.ledger.members import AccountState, Member
from regrade.ledger.one_time_links import OneTimeLinks
from regrade.ledger.overlap import MOST_VOTES, OverlapChange
from regrade.ledger.queue_progress import Pace, QueueProgress
from regrade.ledger.queue_results import PersonsAnswer, PublishedDecision
from regrade.ledger.records import (
    Comment,
    CountedVote,
    Decision,
    Item,
    Mode,
    NewItem,
    Person,
    Question,
    Queue,
    Role,
    Vote,
    VoteContent,
)
from regrade.ledger.reports import UnreadableReport, UnreadableReports
from regrade.ledger.row_files import rows_as_file, rows_from_file
from regrade.ledger.sign_in_attempts import SignInAttempts

__all__ = [
    "ANSWERS",
    "MOST_VOTES",
    "AccountState",
    "Accounts",
    "BrowserSessions",
    "ChainLink",
    "Comment",
    "CountedVote",
    "Decision",
    "Discussion",
    "Discussions",
    "Guide",
    "GuideEntry",
    "GuideText",
    "IndependentVote",
    "Item",
    "Ledger",
    "Member",
    "Mode",
    "NewItem",
    "OneTimeLinks",
    "OpenAccount",
    "OverlapChange",
    "Pace",
    "Person",
    "PersonsAnswer",
    "PublishedDecision",
    "Question",
    "Queue",
    "QueueProgress",
    "Role",
    "SignInAttempts",
    "Stage",
    "Topic",
    "TopicFilter",
    "UnreadableReport",
    "UnreadableReports",
    "Vote",
    "VoteContent",
    "may_answer",
    "panel_decision",
    "rows_as_file",
    "rows_from_file",
]
