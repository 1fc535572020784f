"""The axes as nouns: where samples live, which quadratic, which set, which rule; and the problem they make together."""
