/* Answers lines of text on stdin with lines on stdout, by elasticrec.h: how the tests reach it on
 * every machine, native, foreign or WebAssembly. Bytes and text ids are hexadecimal, lists of ids
 * have commas, "-" is an empty list or nothing. The signature and the hashes are asked back for.
 *
 *     open BYTES KEY SEQUENCE MOST SIMD    -> ok END STREAM_BYTES WORK_BYTES | refused WHY
 *     refresh BYTES                        -> ok END | refused WHY
 *     withdraw BYTES                       -> ok MS | refused WHY
 *     ask K REPEAT DIVERSITY VECTOR HISTORY EXCLUDE ONLY|all
 *                                          -> ok UNKNOWN QUESTION_BYTES ID:SCORE:WHY ... | refused
 *     similar ID K                         -> as ask | unknown
 *     ids, info, find ID
 *     speed ROUNDS K HISTORY               -> ok MS ..., of the processor's time, for each round
 *     cycle ROUNDS K HISTORY               -> ok MS, of opening, ranking and closing once
 *     short                                -> memory WHY, for a byte too little to open, and to ask
 *     root NUMBER                          -> ok BITS, of the f64 that is its square root
 */
#define ELASTICREC_IMPLEMENTATION
#include "../elasticrec.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct {
  elasticrec_id *ids;
  size_t n;
  uint8_t *text;
} list;

static elasticrec_stream stream;
static uint8_t *bytes, *memory, *work;
static size_t work_bytes;
static elasticrec_error failure;

/* Memory of exactly this size, so that a checker sees the first byte beyond. */
static void *room(size_t size) {
  void *found = malloc(size);
  if (!found && size) {
    puts("memory");
    exit(3);
  }
  return found;
}

static char *line(void) {
  static char *text;
  static size_t size;
  size_t at = 0;
  int c;
  while ((c = getchar()) != EOF && c != '\n') {
    if (at + 1 >= size) text = (char *)realloc(text, size = 2 * size + 4096);
    if (!text) exit(3);
    text[at++] = (char)c;
  }
  if (c == EOF && !at) return NULL;
  if (text) text[at] = 0;
  return text;
}

static char *word(char **rest) {
  char *start = *rest, *end = start;
  while (*end && *end != ' ') end++;
  *rest = *end ? end + 1 : end;
  *end = 0;
  return start;
}

static int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

static uint8_t *from_hex(const char *hex, size_t length, size_t *size) {
  uint8_t *found = (uint8_t *)room(*size = *hex == '-' ? 0 : length / 2);
  for (size_t i = 0; i < *size; i++)
    found[i] = (uint8_t)(digit(hex[2 * i]) * 16 + digit(hex[2 * i + 1]));
  return found;
}

static void put_hex(const void *data, size_t size) {
  const uint8_t *p = (const uint8_t *)data;
  for (size_t i = 0; i < size; i++) printf("%02x", p[i]);
}

static void sha256(void *context, const void *data, size_t size, uint8_t digest[32]) {
  uint8_t *found;
  size_t n;
  (void)context;
  printf("sha256 ");
  put_hex(data, size);
  putchar('\n');
  fflush(stdout);
  found = from_hex(line(), 64, &n);
  memcpy(digest, found, 32);
  free(found);
}

static int verify(void *context, const uint8_t signature[64], const elasticrec_bytes *parts,
                  size_t n) {
  (void)context;
  printf("verify ");
  put_hex(signature, 64);
  putchar(' ');
  for (size_t i = 0; i < n; i++) put_hex(parts[i].data, parts[i].size);
  putchar('\n');
  fflush(stdout);
  return line()[0] == '1';
}

static void refused(int verdict) {
  char why[200];
  elasticrec_explain(&failure, why, sizeof why);
  printf("%s %s", verdict == ELASTICREC_REFUSED ? "refused" : "memory", why);
}

static list read_ids(char *text) {
  list found = {NULL, 0, NULL};
  size_t length = strlen(text), n = 1, at = 0;
  for (char *p = text; *p; p++) n += *p == ',';
  if (*text == '-' && !text[1]) n = 0;
  found.ids = (elasticrec_id *)room((n + !n) * sizeof *found.ids);
  found.text = (uint8_t *)room(length + 1);
  for (found.n = n, n = 0; n < found.n; n++) {
    char *end = text + strcspn(text, ",");
    elasticrec_id *id = found.ids + n;
    if (stream.id_kind == 3) {
      id->text = (char *)found.text + at, id->number = (uint64_t)(end - text) / 2;
      for (; text + 1 < end; text += 2)
        found.text[at++] = (uint8_t)(digit(text[0]) * 16 + digit(text[1]));
    } else {
      id->text = NULL, id->number = strtoull(text, NULL, 10);
    }
    text = end + 1;
  }
  return found;
}

static void put_id(uint32_t item) {
  elasticrec_id id;
  if (elasticrec_id_of(&stream, item, &id) != ELASTICREC_OK)
    putchar('-');
  else if (id.text)
    put_hex(id.text, (size_t)id.number);
  else
    printf("%llu", (unsigned long long)id.number);
}

static void put_answer(int verdict, const elasticrec_item *items, const elasticrec_answer *answer,
                       size_t size) {
  if (verdict == ELASTICREC_UNKNOWN) printf("unknown");
  if (verdict == ELASTICREC_REFUSED || verdict == ELASTICREC_MEMORY) refused(verdict);
  if (verdict != ELASTICREC_OK) return;
  printf("ok %lu %llu", (unsigned long)answer->unknown, (unsigned long long)size);
  for (uint32_t i = 0; i < answer->listed; i++) {
    putchar(' ');
    put_id(items[i].item);
    printf(":%lld:", (long long)items[i].score);
    put_id(items[i].why);
  }
}

static void open_stream(char *rest) {
  elasticrec_key key = {NULL, sha256, verify};
  elasticrec_sizes sizes = {0, 0};
  char *hex = word(&rest);
  size_t size, most;
  int signed_by = word(&rest)[0] != '-', verdict, simd;
  uint64_t sequence = strtoull(word(&rest), NULL, 10);
  free(bytes), free(memory), free(work);
  memory = work = NULL;
  bytes = from_hex(hex, strlen(hex), &size);
  most = (size_t)strtoull(word(&rest), NULL, 10);
  simd = *rest - '0'; /* sha256 reads further lines into the same place */
  verdict = elasticrec_size(bytes, size, most, &sizes, &failure);
  if (verdict == ELASTICREC_OK) {
    memory = (uint8_t *)room(sizes.stream), work = (uint8_t *)room(work_bytes = sizes.work);
    verdict = elasticrec_open(&stream, bytes, size, signed_by ? &key : NULL, sequence, memory,
                              sizes.stream, work, work_bytes, &failure);
  }
  if (verdict != ELASTICREC_OK) {
    refused(verdict);
    return;
  }
  if (stream.simd > simd) stream.simd = (uint8_t)simd;
  printf("ok %lu %llu %llu", (unsigned long)stream.end, (unsigned long long)sizes.stream,
         (unsigned long long)sizes.work);
}

static void refresh(char *rest) {
  size_t size;
  char *hex = word(&rest);
  uint8_t *more = from_hex(hex, strlen(hex), &size);
  int verdict = elasticrec_refresh(&stream, more, size, work, work_bytes, &failure);
  if (verdict == ELASTICREC_OK)
    printf("ok %lu", (unsigned long)stream.end);
  else
    refused(verdict);
  if (stream.data == more) {
    free(bytes);
    bytes = more;
  } else { /* refused before any chunk was read: the stream stays on the old bytes */
    free(more);
  }
}

static double milliseconds(void) { return (double)clock() * 1000 / CLOCKS_PER_SEC; }

static void withdraw(char *rest) {
  size_t size;
  char *hex = word(&rest);
  uint8_t *file = from_hex(hex, strlen(hex), &size);
  double start = milliseconds();
  int verdict = elasticrec_withdraw(&stream, file, size, &failure);
  if (verdict == ELASTICREC_OK)
    printf("ok %.4f", milliseconds() - start);
  else
    refused(verdict);
  free(file);
}

static void ask(char *rest) {
  elasticrec_question question;
  elasticrec_answer answer;
  list history, exclude, only = {NULL, 0, NULL};
  uint8_t *vector = NULL;
  char *text;
  memset(&question, 0, sizeof question);
  question.k = (uint32_t)strtoul(word(&rest), NULL, 10);
  question.repeat = word(&rest)[0] == '1', question.why = 1;
  question.diversity = strtod(word(&rest), NULL);
  text = word(&rest);
  if (strcmp(text, "none")) {
    vector = from_hex(text, strlen(text), &question.vector_bytes);
    question.vector = vector;
  }
  history = read_ids(word(&rest)), exclude = read_ids(word(&rest)), text = word(&rest);
  if (strcmp(text, "all")) only = read_ids(text);
  question.history = history.ids, question.n_history = history.n;
  question.exclude = exclude.ids, question.n_exclude = exclude.n;
  question.only = only.ids, question.n_only = only.n;
  {
    size_t size = elasticrec_question_bytes(&stream, &question);
    void *scratch = room(size);
    elasticrec_item *items = (elasticrec_item *)room(question.k * sizeof *items);
    int verdict = elasticrec_recommend(&stream, &question, scratch, size, items, &answer, &failure);
    put_answer(verdict, items, &answer, size);
    free(scratch), free(items);
  }
  free(vector), free(history.ids), free(history.text), free(exclude.ids), free(exclude.text);
  free(only.ids), free(only.text);
}

/* Asks one question again and again; `anew` opens the stream before each, in memory of its own. */
static void speed(char *rest, int anew) {
  elasticrec_question question;
  elasticrec_answer answer;
  elasticrec_sizes sizes = {0, 0};
  int rounds = atoi(word(&rest)), verdict = ELASTICREC_OK;
  double start = milliseconds(), now;
  list history;
  memset(&question, 0, sizeof question);
  question.k = (uint32_t)strtoul(word(&rest), NULL, 10);
  history = read_ids(word(&rest));
  question.history = history.ids, question.n_history = history.n;
  elasticrec_size(stream.data, stream.end, 0, &sizes, &failure);
  if (!anew) printf("ok");
  for (int i = 0; i < rounds && verdict == ELASTICREC_OK; i++) {
    elasticrec_stream other = stream;
    void *own = anew ? room(sizes.stream) : NULL, *reading = anew ? room(sizes.work) : NULL;
    elasticrec_item *items = (elasticrec_item *)room(question.k * sizeof *items);
    size_t size;
    void *scratch;
    if (anew)
      verdict = elasticrec_open(&other, stream.data, stream.end, NULL, 0, own, sizes.stream,
                                reading, sizes.work, &failure);
    size = elasticrec_question_bytes(&other, &question);
    scratch = room(size), now = milliseconds();
    if (verdict == ELASTICREC_OK)
      verdict = elasticrec_recommend(&other, &question, scratch, size, items, &answer, &failure);
    if (!anew) printf(" %.4f", milliseconds() - now);
    free(scratch), free(items), free(own), free(reading);
  }
  if (verdict != ELASTICREC_OK) refused(verdict);
  else if (anew) printf("ok %.4f", (milliseconds() - start) / rounds);
  free(history.ids), free(history.text);
}

static void similar(char *rest) {
  list ids = read_ids(word(&rest));
  uint32_t k = (uint32_t)strtoul(word(&rest), NULL, 10);
  elasticrec_question question;
  elasticrec_answer answer;
  size_t size;
  void *scratch;
  elasticrec_item *items = (elasticrec_item *)room(k * sizeof *items);
  memset(&question, 0, sizeof question);
  question.n_history = 1, question.k = k;
  scratch = room(size = elasticrec_question_bytes(&stream, &question));
  put_answer(elasticrec_similar(&stream, ids.ids[0], k, scratch, size, items, &answer, &failure),
             items, &answer, size);
  free(scratch), free(items), free(ids.ids), free(ids.text);
}

static void find(char *rest) {
  list ids = read_ids(word(&rest));
  uint32_t item = 0;
  int verdict = elasticrec_find(&stream, ids.ids[0], &item, &failure);
  if (verdict == ELASTICREC_OK)
    printf("ok %lu", (unsigned long)item);
  else if (verdict == ELASTICREC_UNKNOWN)
    printf("unknown");
  else
    refused(verdict);
  free(ids.ids), free(ids.text);
}

static void too_short(void) {
  elasticrec_question question;
  elasticrec_answer answer;
  elasticrec_item item;
  elasticrec_sizes sizes = {0, 0};
  elasticrec_stream other;
  int verdicts[3];
  size_t size = stream.end;
  memset(&question, 0, sizeof question);
  question.k = 1;
  elasticrec_size(stream.data, size, 0, &sizes, &failure);
  verdicts[0] = elasticrec_recommend(&stream, &question, work,
                                     elasticrec_question_bytes(&stream, &question) - 1, &item,
                                     &answer, &failure);
  verdicts[1] = elasticrec_open(&other, stream.data, size, NULL, 0, memory, sizes.stream - 12, work,
                                sizes.work, &failure);
  verdicts[2] = elasticrec_open(&other, stream.data, size, NULL, 0, memory, sizes.stream, work,
                                sizes.work - 1, &failure);
  printf("ok %d %d %d ", verdicts[0], verdicts[1], verdicts[2]);
  refused(ELASTICREC_MEMORY);
}

static void info(void) {
  elasticrec_about about;
  elasticrec_info(&stream, &about);
  printf("ok %llu %llu %llu %llu %llu %lu %lu %lu %lu %lu %d %d %d %d ",
         (unsigned long long)about.sequence, (unsigned long long)about.trained,
         (unsigned long long)about.least, (unsigned long long)about.length,
         (unsigned long long)about.bytes, (unsigned long)about.items, (unsigned long)about.blocks,
         (unsigned long)about.listable, (unsigned long)about.chunks, (unsigned long)about.columns,
         about.id_kind, about.cosine, about.for_vector, about.min_support);
  put_hex(about.model_id, 32);
}

int main(void) {
  char *rest;
  while ((rest = line()) != NULL) {
    char *verb = word(&rest);
    if (!strcmp(verb, "open")) open_stream(rest);
    if (!strcmp(verb, "refresh")) refresh(rest);
    if (!strcmp(verb, "withdraw")) withdraw(rest);
    if (!strcmp(verb, "ask")) ask(rest);
    if (!strcmp(verb, "similar")) similar(rest);
    if (!strcmp(verb, "find")) find(rest);
    if (!strcmp(verb, "info")) info();
    if (!strcmp(verb, "short")) too_short();
    if (!strcmp(verb, "root")) {
      double root = er_root(strtoull(rest, NULL, 10));
      uint64_t bits;
      memcpy(&bits, &root, 8);
      printf("ok %llu", (unsigned long long)bits);
    }
    if (!strcmp(verb, "speed")) speed(rest, 0);
    if (!strcmp(verb, "cycle")) speed(rest, 1);
    if (!strcmp(verb, "ids")) {
      uint32_t n = stream.id_kind ? stream.n_ids : stream.n_items;
      printf("ok");
      for (uint32_t i = 0; i < n; i++) putchar(' '), put_id(i);
    }
    putchar('\n');
    fflush(stdout);
  }
  free(bytes), free(memory), free(work);
  return 0;
}
