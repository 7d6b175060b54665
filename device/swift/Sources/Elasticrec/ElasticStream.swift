import CElasticrec
import Foundation

#if canImport(CryptoKit)
  import CryptoKit
#endif

/// What a file breaks: what was found, and what was expected.
public struct ElasticError: Error, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }

  init(_ error: elasticrec_error) {
    var copy = error
    var text = [CChar](repeating: 0, count: 200)
    _ = elasticrec_explain(&copy, &text, text.count)
    description = String(cString: text)
  }
}

/// An item's id: a number, or text where the stream has text.
public enum ElasticID: Hashable, ExpressibleByIntegerLiteral, ExpressibleByStringLiteral,
  CustomStringConvertible
{
  case number(UInt64)
  case text(String)

  public var description: String {
    switch self {
    case .number(let number): return String(number)
    case .text(let text): return text
    }
  }

  public init(integerLiteral value: UInt64) { self = .number(value) }
  public init(stringLiteral value: String) { self = .text(value) }
}

/// An open stream, or a prefix of one; its bytes stay as they are, mapped for example. Threads may ask
/// it while nobody refreshes it or withdraws items.
public final class ElasticStream {
  /// A listed item; `why` is the history item that votes most for it.
  public struct Item {
    public let id: ElasticID
    public let score: Int64
    public let why: ElasticID?
  }

  /// A list, best first; `unknown` counts history ids that were skipped.
  public struct Answer {
    public let items: [Item]
    public let unknown: Int
  }

  private var data: NSData  // its bytes do not move
  private let stream: UnsafeMutablePointer<elasticrec_stream>
  private let memory: UnsafeMutableRawPointer
  private let verifier: AnyObject?  // what the stream's key points to

  private init(_ data: Data, most: Int, sequence: UInt64, key: elasticrec_key?, verifier: AnyObject?)
    throws
  {
    let bytes = data as NSData
    var sizes = elasticrec_sizes()
    var error = elasticrec_error()
    guard elasticrec_size(bytes.bytes, bytes.length, most, &sizes, &error) == 0 else {
      throw ElasticError(error)
    }
    let stream = UnsafeMutablePointer<elasticrec_stream>.allocate(capacity: 1)
    stream.initialize(to: elasticrec_stream())
    let memory = UnsafeMutableRawPointer.allocate(byteCount: sizes.stream, alignment: 8)
    let work = UnsafeMutableRawPointer.allocate(byteCount: sizes.work, alignment: 8)
    defer { work.deallocate() }
    let verdict: Int32
    if var key = key {
      verdict = elasticrec_open(
        stream, bytes.bytes, bytes.length, &key, sequence, memory, sizes.stream, work, sizes.work,
        &error)
    } else {
      verdict = elasticrec_open(
        stream, bytes.bytes, bytes.length, nil, sequence, memory, sizes.stream, work, sizes.work,
        &error)
    }
    guard verdict == 0 else {
      stream.deallocate()
      memory.deallocate()
      throw ElasticError(error)
    }
    self.data = bytes
    self.stream = stream
    self.memory = memory
    self.verifier = verifier
  }

  /// Opens a stream of at least this sequence number and checks every rule of the format. A stream
  /// that will grow says how many bytes it will have at `most`.
  public convenience init(_ data: Data, most: Int = 0, sequence: UInt64 = 0) throws {
    try self.init(data, most: most, sequence: sequence, key: nil, verifier: nil)
  }

  #if canImport(CryptoKit)
    private final class Verifier {
      let key: Curve25519.Signing.PublicKey

      init(_ key: Data) throws { self.key = try Curve25519.Signing.PublicKey(rawRepresentation: key) }
    }

    /// The same, verified by the publisher's public key for Ed25519, 32 bytes: the head's signature,
    /// every chunk, and withdrawn files.
    public convenience init(_ data: Data, key: Data, most: Int = 0, sequence: UInt64 = 0) throws {
      let verifier = try Verifier(key)
      var calls = elasticrec_key()
      calls.context = Unmanaged.passUnretained(verifier).toOpaque()
      calls.sha256 = { _, data, size, digest in
        let found = SHA256.hash(data: Data(bytes: data!, count: size))
        found.withUnsafeBytes { _ = memcpy(digest!, $0.baseAddress!, 32) }
      }
      calls.verify = { context, signature, parts, count in
        let verifier = Unmanaged<Verifier>.fromOpaque(context!).takeUnretainedValue()
        var message = Data()
        for part in UnsafeBufferPointer(start: parts, count: count) {
          message.append(Data(bytes: part.data, count: part.size))
        }
        let signed = Data(bytes: signature!, count: 64)
        return verifier.key.isValidSignature(signed, for: message) ? 1 : 0
      }
      try self.init(data, most: most, sequence: sequence, key: calls, verifier: verifier)
    }
  #endif

  deinit {
    stream.deallocate()
    memory.deallocate()
  }

  /// Takes in what has arrived: all bytes from the first on. Says how many are used. After a chunk
  /// that breaks a rule it throws, and the stream ranks with all that came before.
  @discardableResult
  public func refresh(_ data: Data) throws -> Int {
    let bytes = data as NSData
    var sizes = elasticrec_sizes()
    var error = elasticrec_error()
    guard elasticrec_size(bytes.bytes, bytes.length, 0, &sizes, &error) == 0 else {
      throw ElasticError(error)
    }
    let work = UnsafeMutableRawPointer.allocate(byteCount: sizes.work, alignment: 8)
    defer { work.deallocate() }
    let verdict = elasticrec_refresh(stream, bytes.bytes, bytes.length, work, sizes.work, &error)
    if UnsafeRawPointer(stream.pointee.data) == bytes.bytes { self.data = bytes }
    guard verdict == 0 else { throw ElasticError(error) }
    return Int(stream.pointee.end)
  }

  /// Never lists the items of a withdrawn file; the next file replaces it.
  public func withdraw(_ file: Data) throws {
    let bytes = file as NSData
    var error = elasticrec_error()
    guard elasticrec_withdraw(stream, bytes.bytes, bytes.length, &error) == 0 else {
      throw ElasticError(error)
    }
  }

  /// Counts, sizes, date and model.
  public var info: elasticrec_about {
    var about = elasticrec_about()
    elasticrec_info(stream, &about)
    return about
  }

  /// The `count` best items for a person: a history of ids, the oldest first, and the bytes of her
  /// vector file. A `diversity` above 0, at most 1, prefers items that differ from those above them.
  public func recommend(
    history: [ElasticID] = [], vector: Data? = nil, count: Int = 20, exclude: [ElasticID] = [],
    only: [ElasticID]? = nil, repeats: Bool = false, diversity: Double = 0
  ) throws -> Answer {
    guard count >= 0 else { throw ElasticError("count: found \(count), expected 0 or more") }
    let given = history + exclude + (only ?? [])
    let texts = try given.map(bytes(of:))
    let file = vector.map { $0 as NSData }
    return try texts.flatMap { $0 + [0] }.withUnsafeBufferPointer { text in
      var at = 0
      let ids = zip(given, texts).map { id, own -> elasticrec_id in
        defer { at += own.count + 1 }
        if case .number(let number) = id { return elasticrec_id(text: nil, number: number) }
        return elasticrec_id(text: text.baseAddress! + at, number: UInt64(own.count))
      }
      return try ids.withUnsafeBufferPointer { all in
        var ask = elasticrec_question()
        ask.history = all.baseAddress
        ask.n_history = history.count
        ask.exclude = all.baseAddress.map { $0 + history.count }
        ask.n_exclude = exclude.count
        ask.n_only = only?.count ?? 0
        ask.vector = file?.bytes
        ask.vector_bytes = file?.length ?? 0
        ask.diversity = diversity
        ask.k = UInt32(min(count, Int(stream.pointee.n_items)))
        ask.repeat = repeats ? 1 : 0
        ask.why = 1
        var none = elasticrec_id()
        return try withUnsafePointer(to: &none) { none in  // an empty list that is not NULL
          if only != nil { ask.only = all.baseAddress.map { $0 + history.count + exclude.count } ?? none }
          return try listed(&ask)
        }
      }
    }
  }

  /// The `count` items nearest to one; throws where the stream does not know it.
  public func similar(to id: ElasticID, count: Int = 20) throws -> [Item] {
    let found = try recommend(history: [id], count: count)
    guard found.unknown == 0 else { throw ElasticError("item: found \(id), expected a known one") }
    return found.items
  }

  private func listed(_ ask: UnsafePointer<elasticrec_question>) throws -> Answer {
    let size = elasticrec_question_bytes(stream, ask)
    let work = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 8)
    defer { work.deallocate() }
    var items = [elasticrec_item](repeating: elasticrec_item(), count: Int(ask.pointee.k) + 1)
    var answer = elasticrec_answer()
    var error = elasticrec_error()
    guard elasticrec_recommend(stream, ask, work, size, &items, &answer, &error) == 0 else {
      throw ElasticError(error)
    }
    let found = items.prefix(Int(answer.listed)).map {
      Item(id: id($0.item) ?? 0, score: $0.score, why: id($0.why))
    }
    return Answer(items: found, unknown: Int(answer.unknown))
  }

  private func bytes(of id: ElasticID) throws -> [CChar] {
    let texts = stream.pointee.id_kind == 3
    switch id {
    case .text(let text) where texts: return text.utf8.map { CChar(bitPattern: $0) }
    case .number where !texts: return []
    default: throw ElasticError("id: found \(id), expected \(texts ? "text" : "a number")")
    }
  }

  private func id(_ item: UInt32) -> ElasticID? {
    var found = elasticrec_id()
    guard elasticrec_id_of(stream, item, &found) == 0 else { return nil }
    guard let text = found.text else { return .number(found.number) }
    let bytes = UnsafeRawBufferPointer(start: text, count: Int(found.number))
    return .text(String(decoding: bytes, as: UTF8.self))
  }
}
