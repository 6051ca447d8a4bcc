"""From a body to blocks, texts and links; pure functions of the page and of template counts.

`digest` gives the crawl its light facts of a page; `page` reads one page: `walk` collects atoms of
text, `landmarks` decides what the page itself marks as boilerplate, `sections` puts every atom
under its heading, `packing` merges atoms into blocks. `blocks` makes the tables of a crawl: `fit`
sizes blocks for the embedding model, `rows` gives them identity, `template` drops what the site
repeats, `lineage` follows blocks from the parent snapshot, `links` finds where links lead.

A heading's text is the first line of the first block below it, and the last entry of that block's
heading path; a heading without text of its own is a block of kind `heading`, as is the page's
first-level heading when what follows is a container of its own.
"""
