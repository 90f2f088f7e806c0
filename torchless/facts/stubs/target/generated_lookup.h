#pragma once
// Headers that the build generates: the tables of a module's kernel instances. An empty table parses.
#define GENERATE_LOOKUP_TABLE(...)
