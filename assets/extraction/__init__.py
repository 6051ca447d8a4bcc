"""From texts to raw mentions and from blocks to raw facts; pure per text or per page."""
