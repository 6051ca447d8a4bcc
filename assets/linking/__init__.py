"""From mentions and facts to entities, relations and topics; vectorised over the whole site."""
