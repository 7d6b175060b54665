import CElasticrec
import Foundation

/// What a file breaks: what was found, and what was expected.
public struct ElasticError: Error, CustomStringConvertible {
  public let description: String

  init(_ error: elasticrec_error) {
    var copy = error
    var text = [CChar](repeating: 0, count: 200)
    _ = elasticrec_explain(&copy, &text, text.count)
    description = String(cString: text)
  }
}

/// An open stream of numbered ids, or a prefix of one; its bytes stay as they are, mapped for example.
public final class ElasticStream {
  /// A listed item; `why` is the history item that votes most for it.
  public struct Item {
    public let id: UInt64
    public let score: Int64
    public let why: UInt64?
  }

  private let data: NSData  // its bytes do not move
  private let memory: UnsafeMutableRawPointer
  private var stream = elasticrec_stream()

  /// Opens a stream and checks every rule of the format.
  public init(_ data: Data) throws {
    self.data = data as NSData
    var sizes = elasticrec_sizes()
    var error = elasticrec_error()
    let size = self.data.length
    guard elasticrec_size(self.data.bytes, size, size, &sizes, &error) == 0 else {
      throw ElasticError(error)
    }
    memory = UnsafeMutableRawPointer.allocate(byteCount: sizes.stream, alignment: 8)
    let work = UnsafeMutableRawPointer.allocate(byteCount: sizes.work, alignment: 8)
    defer { work.deallocate() }
    let verdict = elasticrec_open(
      &stream, self.data.bytes, size, nil, 0, memory, sizes.stream, work, sizes.work, &error)
    guard verdict == 0 else {
      memory.deallocate()
      throw ElasticError(error)
    }
  }

  deinit { memory.deallocate() }

  /// The `count` best items for a history of ids, the oldest first.
  public func recommend(history: [UInt64], count: Int) throws -> [Item] {
    let ids = history.map { elasticrec_id(text: nil, number: $0) }
    return try ids.withUnsafeBufferPointer { liked in
      var ask = elasticrec_question()
      ask.history = liked.baseAddress
      ask.n_history = liked.count
      ask.k = UInt32(min(count, Int(stream.n_items)))
      ask.why = 1
      let size = elasticrec_question_bytes(&stream, &ask)
      let work = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 8)
      defer { work.deallocate() }
      var items = [elasticrec_item](repeating: elasticrec_item(), count: Int(ask.k))
      var answer = elasticrec_answer()
      var error = elasticrec_error()
      guard elasticrec_recommend(&stream, &ask, work, size, &items, &answer, &error) == 0 else {
        throw ElasticError(error)
      }
      return items.prefix(Int(answer.listed)).map {
        Item(id: id($0.item) ?? 0, score: $0.score, why: id($0.why))
      }
    }
  }

  private func id(_ item: UInt32) -> UInt64? {
    var found = elasticrec_id()
    return elasticrec_id_of(&stream, item, &found) == 0 ? found.number : nil
  }
}
