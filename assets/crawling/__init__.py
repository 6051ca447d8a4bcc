"""From seeds to the `pages` table and the raw bodies: URL keys, robots, journal, spider, states.

The only package that imports scrapy, and only inside the crawl subprocess.
"""
