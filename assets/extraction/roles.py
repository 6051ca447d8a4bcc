"""Words that name what a person is to a thing."""

from __future__ import annotations

_ROLES = (
    "Professor", "Lecturer", "Instructor", "Dean", "Director", "Chair", "Chairperson", "Chairman",
    "Chairwoman", "Head", "President", "Vice-President", "Chancellor", "Vice-Chancellor",
    "Provost", "Rector", "Principal", "Secretary", "Treasurer", "Registrar", "Librarian",
    "Curator", "Coordinator", "Manager", "Officer", "Adviser", "Advisor", "Supervisor", "Tutor",
    "Teacher", "Researcher", "Scientist", "Fellow", "Editor", "Author", "Maintainer", "Developer",
    "Engineer", "Administrator", "Assistant", "Associate", "Ombudsman", "Commissioner", "Founder",
    "Convenor", "Convener",
)  # fmt: skip
ROLE_WORDS = frozenset(role.lower() for role in _ROLES)
ROLE_PATTERN = rf"(?:{'|'.join(_ROLES)})"
# Labels whose value is the person in the role: "Dean: …", "Taught by: …".
ROLE_LABEL_PATTERN = (
    rf"(?i)\b(?:{'|'.join(_ROLES)})s?\b"
    r"|\b(?:taught|led|headed|chaired|written|run) by\b|\bcontact\b"
)
