/*
 * A validator of OAuth tokens for PostgreSQL 18: the token "for.USER" lets USER in, and no other token does.
 * The headers of the server are not needed: what a module tells of itself and what it is asked have these layouts.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct {
  int length;
  int version, max_args, max_keys, name_length, float8_by_value;
  char build[32];
  const char *name, *module_version;
} Magic;

typedef struct {
  bool authorized;
  char *identity;
} Verdict;

typedef struct {
  uint32_t magic;
  void (*startup)(void *state);
  void (*shutdown)(void *state);
  bool (*validate)(const void *state, const char *token, const char *role, Verdict *verdict);
} Callbacks;

extern char *pstrdup(const char *text);

const Magic *Pg_magic_func(void) {
  static const Magic magic = {sizeof(Magic), 1800, 100, 32, 64, 1, "PostgreSQL", 0, 0};
  return &magic;
}

static bool validate(const void *state, const char *token, const char *role, Verdict *verdict) {
  verdict->authorized = strncmp(token, "for.", 4) == 0 && strcmp(token + 4, role) == 0;
  verdict->identity = pstrdup(role);
  return true;
}

const Callbacks *_PG_oauth_validator_module_init(void) {
  static const Callbacks callbacks = {0x20250220, 0, 0, validate};
  return &callbacks;
}
