"""The ledger: an append-only database of people's votes on images, with discussions and decisions."""

from regrade.core.panel import Claim, Mode, Role, WorkerEvent
from regrade.ledger.accounts import Accounts, AccountState, Invitation, Member, OpenAccount
from regrade.ledger.chain import ChainLink
from regrade.ledger.decisions import Decisions, PublishedDecision
from regrade.ledger.discussion import Discussion, Discussions, ItemStanding, OpenItem, Stage, Topic, TopicFilter
from regrade.ledger.guide import Guide, GuideEntry, GuideText
from regrade.ledger.items import ItemImage, Items, QueuedImage, VotedImage
from regrade.ledger.ledger import Ledger
from regrade.ledger.people import LedgerPeople
from regrade.ledger.proposals import Proposal, ProposalLink, Proposals, QueueFull
from regrade.ledger.questions import QUESTIONS, NewDecision, Question, panel_decision, question_named, register
from regrade.ledger.queues import MOST_VOTES, OverlapChange, Pace, QueueProgress, Queues
from regrade.ledger.rate_limits import Rate, RateLimits
from regrade.ledger.records import (
    Comment,
    CountedVote,
    Decision,
    Item,
    NewItem,
    Person,
    Purpose,
    Queue,
    Vote,
    VoteContent,
    image_mark,
    image_set,
    may_answer,
)
from regrade.ledger.reports import UnreadableReport, UnreadableReports
from regrade.ledger.row_files import rows_as_file, rows_from_file
from regrade.ledger.selections import GridSelection, Selections
from regrade.ledger.sign_in import BrowserSessions, OneTimeLinks, SignInAttempts
from regrade.ledger.votes import IndependentVote, PersonsAnswer, Votes
from regrade.ledger.workers import LoggedWorkerEvent, Workers

__all__ = [
    "MOST_VOTES",
    "QUESTIONS",
    "AccountState",
    "Accounts",
    "BrowserSessions",
    "ChainLink",
    "Claim",
    "Comment",
    "CountedVote",
    "Decision",
    "Decisions",
    "Discussion",
    "Discussions",
    "GridSelection",
    "Guide",
    "GuideEntry",
    "GuideText",
    "IndependentVote",
    "Invitation",
    "Item",
    "ItemImage",
    "ItemStanding",
    "Items",
    "Ledger",
    "LedgerPeople",
    "LoggedWorkerEvent",
    "Member",
    "Mode",
    "NewDecision",
    "NewItem",
    "OneTimeLinks",
    "OpenAccount",
    "OpenItem",
    "OverlapChange",
    "Pace",
    "Person",
    "PersonsAnswer",
    "Proposal",
    "ProposalLink",
    "Proposals",
    "PublishedDecision",
    "Purpose",
    "Question",
    "Queue",
    "QueueFull",
    "QueueProgress",
    "QueuedImage",
    "Queues",
    "Rate",
    "RateLimits",
    "Role",
    "Selections",
    "SignInAttempts",
    "Stage",
    "Topic",
    "TopicFilter",
    "UnreadableReport",
    "UnreadableReports",
    "Vote",
    "VoteContent",
    "VotedImage",
    "Votes",
    "WorkerEvent",
    "Workers",
    "image_mark",
    "image_set",
    "may_answer",
    "panel_decision",
    "question_named",
    "register",
    "rows_as_file",
    "rows_from_file",
]
