"""One small source in each format, with what a story of it takes to be whole where the format can say that."""

import json

SPEC_KIT = {
    "specs/001-csv/tasks.md": """\
# Tasks: CSV import

## Phase 1: Setup (Shared Infrastructure)

- [x] T001 Create package in src/io/

## Phase 2: Foundational (Blocking Prerequisites)

- [ ] T002 [P] Add error type in src/io/errors.py

## Phase 3: User Story 1 - Read a file (Priority: P1) 🎯 MVP

**Goal**: rows come out
**Independent Test**: read a sample file

- [ ] T003 [P] [US1] Test quoting in tests/test_csv.py
- [ ] T004 [US1] Implement reader in src/io/csv.py (depends on T002, T003)

**Checkpoint**: it reads

```markdown
- [ ] T099 an example that is no task
```
""",
    "specs/001-csv/spec.md": """\
# Feature Specification: CSV import

### User Story 1 - Read a file (Priority: P1)

A person reads a file.

1. **Given** a file, **When** it is read, **Then** its rows come out

### Requirements

- **FR-001**: System MUST keep a quoted comma in its field (SKIP)
""",
}
TASKMASTER = {
    ".taskmaster/tasks/tasks.json": """\
{"master": {"metadata": {"description": "ä"},
  "tasks": [
    {"id": 1, "title": "Reader", "description": "reads", "status": "pending", "priority": "high",
     "dependencies": [], "details": "", "testStrategy": "a sample",
     "acceptanceCriteria": ["a quoted comma stays in its field"],
     "relevantFiles": [{"path": "src/csv.py", "action": "create"}, {"path": "tests/test_csv.py", "action": "create"},
                       {"path": "README.md", "action": "reference"}],
     "subtasks": [{"id": 1, "title": "quotes", "status": "pending", "dependencies": []},
                  {"id": 2, "title": "empty", "status": "pending", "dependencies": [1]},
                  {"id": 3, "title": "bom", "status" : "in-progress", "dependencies": ["1.2", "2.1"]}]},
    {"id": 2, "title": "Writer", "description": "writes", "status": "pending", "dependencies": [3],
     "subtasks": [{"id": 1, "title": "quotes", "status": "pending", "dependencies": []}]},
    {"id": 3, "title": "Package", "status": "done", "dependencies": []},
    {"id": 4, "title": "Later", "status": "deferred", "dependencies": []}]},
 "other": {"tasks": [{"id": 1, "title": "Reader", "status": "pending", "dependencies": []}]}}
"""
}
ISSUES: list[dict[str, object]] = [
    {"id": "bd-9f", "title": "Package", "status": "closed", "issue_type": "task"},
    {"id": "bd-e1", "title": "Everything of CSV", "status": "open", "issue_type": "epic",
     "dependencies": [{"issue_id": "bd-e1", "depends_on_id": "bd-a0", "type": "blocks"}]},
    {"id": "bd-a0", "title": "Errors", "status": "open", "issue_type": "task", "priority": 0,
     "dependencies": [{"depends_on_id": "bd-9f", "type": "blocks"}]},
    {"id": "bd-a1", "title": "Reader", "description": "reads", "status": "open", "priority": 4, "issue_type": "task",
     "acceptance_criteria": "- a quoted comma stays\n- an empty file has no rows",
     "metadata": {"files": ["src/csv.py", "tests/test_csv.py"]},
     "dependencies": [{"issue_id": "bd-a1", "depends_on_id": "bd-e1", "type": "parent-child"},
                      {"depends_on_id": "bd-m1", "type": "related"}]},
    {"id": "bd-a2", "title": "Release", "status": "open", "issue_type": "chore",
     "dependencies": [{"depends_on_id": "bd-e1", "type": "blocks"}]},
    {"id": "bd-m1", "title": "hello", "status": "open", "issue_type": "message"},
    {"id": "bd-g1", "title": "gate", "status": "open", "issue_type": "gate"},
    {"id": "bd-t1", "title": "template", "status": "open", "issue_type": "task", "is_template": True},
    {"id": "bd-w1", "title": "wisp", "status": "open", "issue_type": "task", "ephemeral": True},
]  # fmt: skip
BEADS = {".beads/issues.jsonl": "".join(f"{json.dumps(each)}\n" for each in ISSUES)}
BACKLOG = {
    "backlog/tasks/back-12 - Read-CSV.md": """\
---
id: BACK-12
title: Read CSV
status: To Do
assignee: []
created_date: '2026-08-01 10:00'
labels: [io]
dependencies: [task-24.1]
priority: high
modified_files: [src/csv.py, tests/test_csv.py]
---

## Description

<!-- SECTION:DESCRIPTION:BEGIN -->
Reads it.
<!-- SECTION:DESCRIPTION:END -->

## Acceptance Criteria
<!-- AC:BEGIN -->
- [ ] #1 A quoted comma stays in its field
- [ ] #2 An empty file has no rows
<!-- AC:END -->

## Definition of Done
<!-- DOD:BEGIN -->
- [ ] #1 tests pass
<!-- DOD:END -->
""",
    "backlog/tasks/back-24.1 - Errors.md": """\
---
id: BACK-24.1
title: Errors
status: In Progress
dependencies: [BACK-3]
---

## Acceptance Criteria

- [ ] An error names its line
""",
    "backlog/completed/back-3 - Package.md": "---\nid: back-3\ntitle: Package\nstatus: To Do\n---\n",
    "backlog/config.yml": "project_name: csv\nstatuses: [To Do, In Progress, Shipped]\n",
}
KIRO = {
    ".kiro/specs/csv/tasks.md": """\
- [ ] 1. Foundation
- [ ] 1.1 Set up the reader in src/csv.py and tests/test_csv.py (P)
  - detail
  - _Requirements: 1.1, 1.2_
  - _Boundary: Reader_
  - _Depends: 2.3_
- [ ]* 1.2 Deferrable test work
- [x] 1.3 Name it
- [ ] 2. Rest
- [ ] 2.3 Errors
- [-] 2.4 Docs
""",
    ".kiro/specs/csv/requirements.md": """\
### Requirement 1: Reading

#### Acceptance Criteria

1. When a field is quoted, the reader shall keep its comma
2. When a file is empty, the reader shall give no rows
""",
}
OPENSPEC = {
    "openspec/changes/add-csv/tasks.md": """\
## 1. Errors
- [x] 1.1 Name the error
* [ ] 1.2 Raise it

## 2. Reader
+ [ ] 2.1 Read in `src/csv.py`
1. [~] 2.2 Test in `tests/test_csv.py`
""",
    "openspec/changes/add-csv/proposal.md": "## Why\n\nPeople have files.\n\n## Test Command\n\n```sh\nrm -rf /\n```\n",
    "openspec/changes/add-csv/specs/io/spec.md": """\
## ADDED Requirements
### Requirement: Reading
The system SHALL read.
#### Scenario: Quoted
- **WHEN** a field is quoted
- **THEN** its comma stays
## REMOVED Requirements
### Requirement: Guessing
""",
    "openspec/changes/archive/2026-01-01-old/tasks.md": "## 1. Old\n- [ ] 1.1 old\n",
}
SAMPLES = {
    "spec-kit": SPEC_KIT,
    "taskmaster": TASKMASTER,
    "openspec": OPENSPEC,
    "backlog": BACKLOG,
    "beads": BEADS,
    "kiro": KIRO,
}
QUEUED = {
    "spec-kit": {"001-csv.phase-2": [], "001-csv.US1": ["001-csv.phase-2"]},
    "taskmaster": {"tm-1": ["tm-2"], "tm-2": [], "tm-other-1": []},
    "openspec": {"add-csv.1": [], "add-csv.2": ["add-csv.1"]},
    "backlog": {"BACK-12": ["BACK-24.1"], "BACK-24.1": []},
    "beads": {"bd-a0": [], "bd-a1": ["bd-a0"], "bd-a2": ["bd-a1"]},
    "kiro": {"csv.1-1": ["csv.2-3"], "csv.2-3": [], "csv.2-4": ["csv.2-3"]},
}
"""Each story that is left to do, with what it waits for."""
WHOLE = {"spec-kit": "001-csv.US1", "taskmaster": "tm-1", "openspec": "add-csv.2", "backlog": "BACK-12"} | {
    "beads": "bd-a1",
    "kiro": "csv.1-1",
}
"""The one of each that lacks nothing."""
TICKED = {
    "spec-kit": [("- [ ] T003", "- [x] T003"), ("- [ ] T004", "- [x] T004")],
    "taskmaster": [
        ('"reads", "status": "pending"', '"reads", "status": "done"'),
        (
            '"subtasks": [{"id": 1, "title": "quotes", "status": "pending", "dependencies": []},\n',
            '"subtasks": [{"id": 1, "title": "quotes", "status": "done", "dependencies": []},\n',
        ),
        ('"empty", "status": "pending"', '"empty", "status": "done"'),
        ('"status" : "in-progress"', '"status" : "done"'),
    ],
    "openspec": [("+ [ ] 2.1", "+ [x] 2.1"), ("1. [~] 2.2", "1. [x] 2.2")],
    "backlog": [("- [ ] #1 A", "- [x] #1 A"), ("- [ ] #2 An", "- [x] #2 An"), ("status: To Do", "status: Shipped")],
    "beads": [],
    "kiro": [("- [ ] 1.1", "- [x] 1.1"), ("- [ ] 1. F", "- [x] 1. F")],
}
"""What changes in the source once that one is on main, and nothing else does."""
