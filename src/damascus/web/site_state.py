"""What the site's parts share: the app, the project as it is now, options, sessions."""

import threading
import time

from fastapi import Request

from damascus.app import App, Project
from damascus.web.live import Hub
from damascus.web.notices import Notices
from damascus.web.options import Options
from damascus.web.sessions import Sessions

AGAIN = 30.0
"""Seconds after which the project is opened anew: its settings are main's, and main moves."""


class SiteState:
    """One of each site, at `site.state.window`."""

    def __init__(self, app: App, project: Project, options: Options) -> None:
        self.app = app
        self.options = options
        self.sessions = Sessions(app.home, project.row.uuid)
        self.notices = Notices()
        self.hub = Hub(app.database, project.row.id)
        self._project = project
        self._opened = time.monotonic()
        self._guard = threading.Lock()

    def ending(self) -> None:
        """The window is about to be closed: streams end first, so that nobody is waited for."""
        self.hub.end()

    @property
    def last_project(self) -> Project:
        """As it was last opened: for what must answer without the database, too."""
        return self._project

    def project(self) -> Project:
        """As main has it, at most half a minute old. One without a folder on this host stays as it was opened."""
        with self._guard:
            here = self._project.here
            if here is not None and time.monotonic() - self._opened > AGAIN:
                self._project, self._opened = self.app.project(here.top), time.monotonic()
            return self._project


def state_of(request: Request) -> SiteState:
    found = request.app.state.window
    assert isinstance(found, SiteState)
    return found
