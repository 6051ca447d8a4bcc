"""The embedded demo site: an invented university, in two versions, with gold questions."""
