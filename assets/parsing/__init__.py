"""From a body to blocks, texts and links; pure functions of the page and of template counts."""
