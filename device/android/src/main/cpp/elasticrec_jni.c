/* What ElasticStream.java calls: elasticrec.h behind JNI. */
#include <jni.h>
#include <stdlib.h>

#define ELASTICREC_IMPLEMENTATION
#include "elasticrec.h"

typedef struct {
  elasticrec_stream stream;
  void *memory;
  jobject data;   /* the buffer that the stream reads: kept alive */
  jbyteArray key; /* the publisher's public key, or NULL */
  JNIEnv *env;    /* while a call that verifies runs: its thread's, and ElasticStream */
  jclass type;
} opened;

#define NAME(method) Java_org_elasticrec_ElasticStream_##method

static opened *of(jlong handle) { return (opened *)(intptr_t)handle; }

static void refuse(JNIEnv *env, int verdict, const elasticrec_error *error) {
  char why[200];
  const char *kind = "java/lang/IllegalArgumentException";
  if ((*env)->ExceptionCheck(env)) return; /* from Java's own cryptography */
  if (verdict == ELASTICREC_MEMORY) kind = "java/lang/IllegalStateException";
  elasticrec_explain(error, why, sizeof why);
  (*env)->ThrowNew(env, (*env)->FindClass(env, kind), why);
}

static void *room(JNIEnv *env, size_t size) {
  void *found = malloc(size + !size);
  if (!found)
    (*env)->ThrowNew(env, (*env)->FindClass(env, "java/lang/OutOfMemoryError"), "elasticrec");
  return found;
}

static void release(JNIEnv *env, opened *stream) {
  if (stream->data) (*env)->DeleteGlobalRef(env, stream->data);
  if (stream->key) (*env)->DeleteGlobalRef(env, stream->key);
  free(stream->memory), free(stream);
}

/* SHA-256 of some bytes, by ElasticStream.sha256. */
static void sha256(void *context, const void *data, size_t size, uint8_t digest[32]) {
  const opened *stream = (const opened *)context;
  JNIEnv *env = stream->env;
  jmethodID method = NULL;
  jobject bytes = NULL;
  jbyteArray found = NULL;
  memset(digest, 0, 32);
  if ((*env)->ExceptionCheck(env)) return;
  bytes = (*env)->NewDirectByteBuffer(env, (void *)(uintptr_t)data, (jlong)size);
  if (bytes)
    method = (*env)->GetStaticMethodID(env, stream->type, "sha256", "(Ljava/nio/ByteBuffer;)[B");
  if (method)
    found = (jbyteArray)(*env)->CallStaticObjectMethod(env, stream->type, method, bytes);
  if (found && !(*env)->ExceptionCheck(env))
    (*env)->GetByteArrayRegion(env, found, 0, 32, (jbyte *)digest);
  if (found) (*env)->DeleteLocalRef(env, found);
  if (bytes) (*env)->DeleteLocalRef(env, bytes);
}

/* Whether a signature is right, by ElasticStream.verify. */
static int verify(void *context, const uint8_t signature[64], const elasticrec_bytes *parts,
                  size_t n_parts) {
  const opened *stream = (const opened *)context;
  JNIEnv *env = stream->env;
  size_t size = 0, at = 0;
  jbyteArray message, signed_by = (*env)->NewByteArray(env, 64);
  jmethodID method = NULL;
  jboolean right = JNI_FALSE;
  for (size_t i = 0; i < n_parts; i++) size += parts[i].size;
  message = signed_by ? (*env)->NewByteArray(env, (jsize)size) : NULL;
  if (message) method = (*env)->GetStaticMethodID(env, stream->type, "verify", "([B[B[B)Z");
  if (!method) return 0;
  (*env)->SetByteArrayRegion(env, signed_by, 0, 64, (const jbyte *)signature);
  for (size_t i = 0; i < n_parts; at += parts[i++].size)
    (*env)->SetByteArrayRegion(env, message, (jsize)at, (jsize)parts[i].size,
                               (const jbyte *)parts[i].data);
  right = (*env)->CallStaticBooleanMethod(env, stream->type, method, stream->key, signed_by,
                                          message);
  return right && !(*env)->ExceptionCheck(env);
}

JNIEXPORT jlong JNICALL NAME(open0)(JNIEnv *env, jclass type, jobject data, jint size, jint most,
                                   jlong sequence, jbyteArray key) {
  elasticrec_key verified = {NULL, sha256, verify};
  elasticrec_sizes sizes = {0, 0};
  elasticrec_error error;
  const void *bytes = (*env)->GetDirectBufferAddress(env, data);
  opened *stream = (opened *)room(env, sizeof *stream);
  void *work = NULL;
  int verdict;
  if (!stream) return 0;
  memset(stream, 0, sizeof *stream);
  stream->env = env, stream->type = type, verified.context = stream;
  if (key) stream->key = (jbyteArray)(*env)->NewGlobalRef(env, key);
  verdict = elasticrec_size(bytes, (size_t)size, (size_t)most, &sizes, &error);
  if (verdict == ELASTICREC_OK) {
    stream->memory = room(env, sizes.stream);
    work = stream->memory ? room(env, sizes.work) : NULL;
    if (work)
      verdict = elasticrec_open(&stream->stream, bytes, (size_t)size, key ? &verified : NULL,
                                (uint64_t)sequence, stream->memory, sizes.stream, work, sizes.work,
                                &error);
  }
  if (verdict != ELASTICREC_OK) refuse(env, verdict, &error);
  free(work);
  if ((*env)->ExceptionCheck(env)) {
    release(env, stream);
    return 0;
  }
  stream->data = (*env)->NewGlobalRef(env, data);
  return (jlong)(intptr_t)stream;
}

JNIEXPORT jint JNICALL NAME(refresh0)(JNIEnv *env, jclass type, jlong handle, jobject data,
                                     jint size) {
  opened *stream = of(handle);
  elasticrec_sizes sizes = {0, 0};
  elasticrec_error error;
  const void *bytes = (*env)->GetDirectBufferAddress(env, data);
  int verdict = elasticrec_size(bytes, (size_t)size, (size_t)size, &sizes, &error);
  void *work = verdict == ELASTICREC_OK ? room(env, sizes.work) : NULL;
  stream->env = env, stream->type = type;
  if (work)
    verdict = elasticrec_refresh(&stream->stream, bytes, (size_t)size, work, sizes.work, &error);
  if (work && stream->stream.data == bytes) {
    (*env)->DeleteGlobalRef(env, stream->data);
    stream->data = (*env)->NewGlobalRef(env, data);
  }
  free(work);
  if (verdict != ELASTICREC_OK) refuse(env, verdict, &error);
  return (jint)stream->stream.end;
}

JNIEXPORT void JNICALL NAME(withdraw0)(JNIEnv *env, jclass type, jlong handle, jbyteArray file) {
  elasticrec_error error;
  jsize size = (*env)->GetArrayLength(env, file);
  jbyte *bytes = (*env)->GetByteArrayElements(env, file, NULL);
  int verdict;
  of(handle)->env = env, of(handle)->type = type;
  if (!bytes) return;
  verdict = elasticrec_withdraw(&of(handle)->stream, bytes, (size_t)size, &error);
  (*env)->ReleaseByteArrayElements(env, file, bytes, JNI_ABORT);
  if (verdict != ELASTICREC_OK) refuse(env, verdict, &error);
}

/* The ids of all lists of a question: numbers, or texts, one after the other in `*text`. */
static elasticrec_id *ids_of(JNIEnv *env, jlongArray numbers, jobjectArray texts, char **text) {
  jsize n = texts ? (*env)->GetArrayLength(env, texts) : (*env)->GetArrayLength(env, numbers);
  size_t total = 0, at = 0;
  elasticrec_id *ids = (elasticrec_id *)room(env, (size_t)n * sizeof *ids);
  for (jsize i = 0; ids && i < n; i++) {
    jlong number = 0;
    jobject each = texts ? (*env)->GetObjectArrayElement(env, texts, i) : NULL;
    if (!texts) (*env)->GetLongArrayRegion(env, numbers, i, 1, &number);
    ids[i].text = NULL;
    ids[i].number = texts ? (uint64_t)(*env)->GetArrayLength(env, (jarray)each) : (uint64_t)number;
    total += texts ? (size_t)ids[i].number : 0;
    if (each) (*env)->DeleteLocalRef(env, each);
  }
  *text = ids && texts ? (char *)room(env, total) : NULL;
  for (jsize i = 0; *text && i < n; i++) {
    jobject each = (*env)->GetObjectArrayElement(env, texts, i);
    ids[i].text = *text + at;
    (*env)->GetByteArrayRegion(env, (jbyteArray)each, 0, (jsize)ids[i].number,
                               (jbyte *)(*text + at));
    at += (size_t)ids[i].number;
    (*env)->DeleteLocalRef(env, each);
  }
  return ids;
}

/* Unknown ids, then number, score and reason (-1: none) of each listed item. */
JNIEXPORT jlongArray JNICALL NAME(recommend0)(JNIEnv *env, jclass type, jlong handle,
                                             jlongArray numbers, jobjectArray texts, jint n_history,
                                             jint n_exclude, jint n_only, jbyteArray vector, jint k,
                                             jboolean repeat, jboolean why, jdouble diversity) {
  const elasticrec_stream *stream = &of(handle)->stream;
  elasticrec_question ask;
  elasticrec_error error;
  elasticrec_answer answer = {0, 0};
  char *text = NULL;
  elasticrec_id *ids = ids_of(env, numbers, texts, &text);
  jbyte *file = vector ? (*env)->GetByteArrayElements(env, vector, NULL) : NULL;
  jlongArray found = NULL;
  (void)type;
  memset(&ask, 0, sizeof ask);
  ask.history = ids, ask.n_history = (size_t)n_history;
  ask.exclude = ids + n_history, ask.n_exclude = (size_t)n_exclude;
  if (n_only >= 0) ask.only = ids + n_history + n_exclude, ask.n_only = (size_t)n_only;
  ask.vector = file, ask.vector_bytes = vector ? (size_t)(*env)->GetArrayLength(env, vector) : 0;
  ask.k = (uint32_t)k < stream->n_items ? (uint32_t)k : stream->n_items;
  ask.repeat = repeat, ask.why = why, ask.diversity = diversity;
  if (!(*env)->ExceptionCheck(env)) {
    size_t size = elasticrec_question_bytes(stream, &ask);
    void *work = room(env, size);
    elasticrec_item *items = (elasticrec_item *)room(env, ask.k * sizeof *items);
    if (work && items) {
      int verdict = elasticrec_recommend(stream, &ask, work, size, items, &answer, &error);
      if (verdict != ELASTICREC_OK)
        refuse(env, verdict, &error);
      else
        found = (*env)->NewLongArray(env, (jsize)(1 + 3 * answer.listed));
    }
    if (found) {
      jlong unknown = answer.unknown;
      (*env)->SetLongArrayRegion(env, found, 0, 1, &unknown);
      for (uint32_t i = 0; i < answer.listed; i++) {
        jlong row[3] = {items[i].item, items[i].score, -1};
        if (items[i].why != ELASTICREC_NONE) row[2] = items[i].why;
        (*env)->SetLongArrayRegion(env, found, (jsize)(1 + 3 * i), 3, row);
      }
    }
    free(work), free(items);
  }
  if (file) (*env)->ReleaseByteArrayElements(env, vector, file, JNI_ABORT);
  free(ids), free(text);
  return found;
}

JNIEXPORT jlong JNICALL NAME(number0)(JNIEnv *env, jclass type, jlong handle, jint item) {
  elasticrec_id id = {NULL, 0};
  (void)env, (void)type, (void)elasticrec_id_of(&of(handle)->stream, (uint32_t)item, &id);
  return (jlong)id.number;
}

JNIEXPORT jbyteArray JNICALL NAME(text0)(JNIEnv *env, jclass type, jlong handle, jint item) {
  elasticrec_id id = {NULL, 0};
  jbyteArray text = NULL;
  (void)type, (void)elasticrec_id_of(&of(handle)->stream, (uint32_t)item, &id);
  if (id.text) text = (*env)->NewByteArray(env, (jsize)id.number);
  if (text) (*env)->SetByteArrayRegion(env, text, 0, (jsize)id.number, (const jbyte *)id.text);
  return text;
}

/* Sequence, date, least, length, bytes, items, blocks, listable, chunks, columns, kinds, support. */
JNIEXPORT jlongArray JNICALL NAME(info0)(JNIEnv *env, jclass type, jlong handle) {
  elasticrec_about a;
  jlongArray found = (*env)->NewLongArray(env, 14);
  (void)type, elasticrec_info(&of(handle)->stream, &a);
  if (found) {
    jlong all[14] = {(jlong)a.sequence, (jlong)a.trained, (jlong)a.least, (jlong)a.length,
                     (jlong)a.bytes, a.items, a.blocks, a.listable, a.chunks, a.columns, a.id_kind,
                     a.cosine, a.for_vector, a.min_support};
    (*env)->SetLongArrayRegion(env, found, 0, 14, all);
  }
  return found;
}

JNIEXPORT void JNICALL NAME(close0)(JNIEnv *env, jclass type, jlong handle) {
  (void)type, release(env, of(handle));
}
