package org.elasticrec;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.PublicKey;
import java.security.Signature;
import java.security.SignatureException;
import java.security.spec.X509EncodedKeySpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.NullMarked;
import org.jspecify.annotations.Nullable;

/**
 * An open stream, or a prefix of one, from a direct buffer: a mapped file, for example. Ids are Long
 * (a u64 as its bits), or String where the stream has text. Questions may come from many threads;
 * {@code refresh}, {@code withdraw} and {@code close} wait for them. What may be null says so.
 */
@NullMarked
public final class ElasticStream implements AutoCloseable {
  static {
    System.loadLibrary("elasticrec");
  }

  /** A listed item; {@code why} is the history item that votes most for it, or null. */
  public record Item(Object id, long score, @Nullable Object why) {}

  /** A list, best first; {@code unknown} counts history ids that were skipped. */
  public record Answer(List<Item> items, int unknown) {}

  /**
   * A question; null lists are empty, but a null {@code only} lets every item be listed. A {@code
   * diversity} above 0, at most 1, prefers items that differ from those above them.
   */
  public record Question(
      @Nullable List<?> history, byte @Nullable [] vector, int k, @Nullable List<?> exclude,
      @Nullable List<?> only, boolean repeat, boolean why, double diversity) {
    /** The k best items for a history, the oldest first. */
    public Question(@Nullable List<?> history, int k) {
      this(history, null, k, null, null, false, true, 0);
    }
  }

  private final java.util.concurrent.locks.ReadWriteLock lock =
      new java.util.concurrent.locks.ReentrantReadWriteLock();
  private long handle;
  private final boolean text;

  private ElasticStream(long handle) {
    this.handle = handle;
    this.text = info0(handle)[10] == 3;
  }

  /** Opens the bytes up to the buffer's limit; throws IllegalArgumentException with the reason. */
  public static ElasticStream open(ByteBuffer data) {
    return open(data, data.limit(), 0, null);
  }

  /**
   * The same for a stream that will grow to {@code most} bytes, numbered {@code sequence} or more.
   * With the publisher's public key for Ed25519, 32 bytes, the head's signature, every chunk and
   * withdrawn files are verified.
   */
  public static ElasticStream open(
      ByteBuffer data, int most, long sequence, byte @Nullable [] key) {
    if (key != null) publicKey(key);
    return new ElasticStream(open0(direct(data), data.limit(), most, sequence, key));
  }

  /** Takes in what has arrived: all bytes from the first on. Says how many are used. */
  public int refresh(ByteBuffer data) {
    lock.writeLock().lock();
    try {
      return refresh0(open(), direct(data), data.limit());
    } finally {
      lock.writeLock().unlock();
    }
  }

  /** Never lists the items of a withdrawn file. */
  public void withdraw(byte[] file) {
    lock.writeLock().lock();
    try {
      withdraw0(open(), Objects.requireNonNull(file));
    } finally {
      lock.writeLock().unlock();
    }
  }

  /** The best items for a person. */
  public Answer recommend(Question ask) {
    List<Object> ids = new ArrayList<>();
    for (List<?> list : new List<?>[] {ask.history(), ask.exclude(), ask.only()}) {
      if (list != null) ids.addAll(list);
    }
    if (ask.k() < 0) throw new IllegalArgumentException("k: found " + ask.k() + ", expected 0 or more");
    long[] numbers = new long[text ? 0 : ids.size()];
    byte @Nullable [][] texts = text ? new byte[ids.size()][] : null;
    for (int i = 0; i < ids.size(); i++) {
      if (!(text ? ids.get(i) instanceof String : ids.get(i) instanceof Number)) {
        throw new IllegalArgumentException(
            "id: found " + ids.get(i) + ", expected " + (text ? "text" : "a whole number"));
      }
      if (text) texts[i] = ((String) ids.get(i)).getBytes(StandardCharsets.UTF_8);
      else numbers[i] = ((Number) ids.get(i)).longValue();
    }
    lock.readLock().lock();
    try {
      long[] found = recommend0(
          open(), numbers, texts, size(ask.history()), size(ask.exclude()),
          ask.only() == null ? -1 : ask.only().size(), ask.vector(), ask.k(), ask.repeat(),
          ask.why(), ask.diversity());
      List<Item> items = new ArrayList<>();
      for (int i = 1; i < found.length; i += 3) {
        items.add(new Item(id(found[i]), found[i + 1], found[i + 2] < 0 ? null : id(found[i + 2])));
      }
      return new Answer(items, (int) found[0]);
    } finally {
      lock.readLock().unlock();
    }
  }

  /** Sequence number, date, least, length, bytes used, items, blocks, listable items, chunks, columns,
   * id kind, score, person and support, as the format's page names them. */
  public long[] info() {
    lock.readLock().lock();
    try {
      return info0(open());
    } finally {
      lock.readLock().unlock();
    }
  }

  @Override
  public void close() {
    lock.writeLock().lock();
    try {
      if (handle != 0) close0(handle);
      handle = 0;
    } finally {
      lock.writeLock().unlock();
    }
  }

  private Object id(long item) {
    if (!text) return number0(handle, (int) item);
    return new String(text0(handle, (int) item), StandardCharsets.UTF_8);
  }

  private long open() {
    if (handle == 0) throw new IllegalStateException("the stream is closed");
    return handle;
  }

  private static int size(@Nullable List<?> list) {
    return list == null ? 0 : list.size();
  }

  private static ByteBuffer direct(ByteBuffer data) {
    if (data.isDirect()) return data;
    throw new IllegalArgumentException("buffer: found one on the heap, expected a direct one");
  }

  /** A key from its 32 bytes, behind those that name Ed25519 (RFC 8410). */
  private static PublicKey publicKey(byte[] key) {
    byte[] named = {48, 42, 48, 5, 6, 3, 43, 101, 112, 3, 33, 0};
    if (key.length != 32) {
      throw new IllegalArgumentException("key: found " + key.length + " bytes, expected 32");
    }
    byte[] all = java.util.Arrays.copyOf(named, 44);
    System.arraycopy(key, 0, all, 12, 32);
    try {
      return KeyFactory.getInstance("Ed25519").generatePublic(new X509EncodedKeySpec(all));
    } catch (NoSuchAlgorithmException missing) {
      throw new IllegalStateException("found no Ed25519, expected a provider of it", missing);
    } catch (GeneralSecurityException wrong) {
      throw new IllegalArgumentException("key: found other bytes, expected a key", wrong);
    }
  }

  /** Called by the C runtime. */
  private static byte[] sha256(ByteBuffer data) throws GeneralSecurityException {
    MessageDigest digest = MessageDigest.getInstance("SHA-256");
    digest.update(data);
    return digest.digest();
  }

  /** Called by the C runtime: whether a signature of a message is right. */
  private static boolean verify(byte[] key, byte[] signature, byte[] message)
      throws GeneralSecurityException {
    Signature check = Signature.getInstance("Ed25519");
    check.initVerify(publicKey(key));
    check.update(message);
    try {
      return check.verify(signature);
    } catch (SignatureException malformed) {
      return false;
    }
  }

  private static native long open0(
      ByteBuffer data, int size, int most, long sequence, byte @Nullable [] key);

  private static native int refresh0(long handle, ByteBuffer data, int size);

  private static native void withdraw0(long handle, byte[] file);

  private static native long[] recommend0(
      long handle, long[] numbers, byte @Nullable [][] texts, int history, int exclude, int only,
      byte @Nullable [] vector, int k, boolean repeat, boolean why, double diversity);

  private static native long number0(long handle, int item);

  private static native byte[] text0(long handle, int item);

  private static native long[] info0(long handle);

  private static native void close0(long handle);
}
