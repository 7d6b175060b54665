/* The C runtime as a WebAssembly module, for elasticrec-wasm.js: one stream in each instance. Ids
 * stay with JavaScript; item numbers go in and out. */
#define ELASTICREC_IMPLEMENTATION
#include "../c/elasticrec.h"

#define EXPORT(name) __attribute__((export_name(#name)))

static elasticrec_stream stream;
static elasticrec_sizes sizes;
static elasticrec_error failure;
static elasticrec_answer answer;

static uint32_t align(uint32_t at) { return (at + 7) & ~7u; }

/* SHA-256 of this file and the header, by which a test sees that the module is fresh. */
EXPORT(sources) const char *sources(void) { return SOURCES; }

/* The first address behind the memory of a stream whose bytes lie at `data`; 0: refused. */
EXPORT(plan) uint32_t plan(uint32_t data, uint32_t size) {
  const uint8_t *bytes = (const uint8_t *)(uintptr_t)data;
  if (elasticrec_size(bytes, size, size, &sizes, &failure) != ELASTICREC_OK) return 0;
  return align(align(data + size) + (uint32_t)sizes.stream);
}

/* Opens the stream; needs sizes.work bytes behind the address that `plan` gave. */
EXPORT(work) uint32_t work(void) { return (uint32_t)sizes.work; }
EXPORT(open) int open(uint32_t data, uint32_t size, uint32_t end) {
  int verdict = elasticrec_open(&stream, (const uint8_t *)(uintptr_t)data, size, NULL, 0,
                                (void *)(uintptr_t)align(data + size), sizes.stream,
                                (void *)(uintptr_t)end, sizes.work, &failure);
  stream.id_kind = 0; /* numbers stand for ids from here on */
  return verdict;
}

EXPORT(withdraw) int withdraw(uint32_t file, uint32_t size) {
  return elasticrec_withdraw(&stream, (const void *)(uintptr_t)file, size, &failure);
}

typedef struct {
  elasticrec_question question;
  uint32_t vector, ids, items, work, end;
} layout;

/* Where everything of a question lies: numbers at `at`, the vector, ids, items, work memory. */
static layout lay(uint32_t at, uint32_t n_history, uint32_t n_exclude, int32_t n_only,
                  uint32_t vector_bytes, uint32_t k, double diversity) {
  layout l;
  uint32_t n = n_history + n_exclude + (n_only < 0 ? 0 : (uint32_t)n_only);
  memset(&l, 0, sizeof l);
  l.vector = align(at + 4 * n), l.ids = align(l.vector + vector_bytes);
  l.items = l.ids + n * (uint32_t)sizeof(elasticrec_id);
  l.work = align(l.items + k * (uint32_t)sizeof(elasticrec_item));
  l.question.history = (const elasticrec_id *)(uintptr_t)l.ids, l.question.n_history = n_history;
  l.question.exclude = l.question.history + n_history, l.question.n_exclude = n_exclude;
  if (n_only >= 0) l.question.only = l.question.exclude + n_exclude;
  l.question.n_only = n_only < 0 ? 0 : (uint32_t)n_only, l.question.k = k;
  l.question.diversity = diversity;
  if (vector_bytes) l.question.vector = (const void *)(uintptr_t)l.vector;
  l.question.vector_bytes = vector_bytes;
  l.end = l.work + (uint32_t)elasticrec_question_bytes(&stream, &l.question);
  return l;
}

EXPORT(vector_at) uint32_t vector_at(uint32_t at, uint32_t n) { return align(at + 4 * n); }

/* The first address behind a question at `at`. */
EXPORT(ask_end)
uint32_t ask_end(uint32_t at, uint32_t n_history, uint32_t n_exclude, int32_t n_only,
                 uint32_t vector_bytes, uint32_t k, double diversity) {
  return lay(at, n_history, n_exclude, n_only, vector_bytes, k, diversity).end;
}

/* The address of the listed items, or 0 if the question was refused. */
EXPORT(ask)
uint32_t ask(uint32_t at, uint32_t n_history, uint32_t n_exclude, int32_t n_only,
             uint32_t vector_bytes, uint32_t k, double diversity, uint32_t repeat, uint32_t why) {
  layout l = lay(at, n_history, n_exclude, n_only, vector_bytes, k, diversity);
  const uint32_t *numbers = (const uint32_t *)(uintptr_t)at;
  elasticrec_id *ids = (elasticrec_id *)(uintptr_t)l.ids;
  for (size_t i = 0; i < l.question.n_history + l.question.n_exclude + l.question.n_only; i++)
    ids[i].text = NULL, ids[i].number = numbers[i];
  l.question.repeat = (int)repeat, l.question.why = (int)why;
  if (elasticrec_recommend(&stream, &l.question, (void *)(uintptr_t)l.work, l.end - l.work,
                           (elasticrec_item *)(uintptr_t)l.items, &answer, &failure))
    return 0;
  return l.items;
}

EXPORT(listed) uint32_t listed(void) { return answer.listed; }
