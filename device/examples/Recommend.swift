// Lists ten items for three liked ones: Recommend STREAM ID ID ID, with ids that are numbers.
// The project's machines have no Swift compiler: a test compiles and runs this where there is one.
import Elasticrec
import Foundation

let words = CommandLine.arguments
let file = try Data(contentsOf: URL(fileURLWithPath: words[1]), options: .alwaysMapped)
let likes = words.dropFirst(2).compactMap { UInt64($0) }.map(ElasticID.number)
for item in try ElasticStream(file).recommend(history: likes, count: 10).items {
  let why = item.why.map { " because of \($0)" } ?? ""
  print("\(item.id) \(item.score)\(why)")
}
