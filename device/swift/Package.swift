// swift-tools-version:5.7
import PackageDescription

let package = Package(
  name: "Elasticrec",
  platforms: [.iOS(.v13), .macOS(.v10_15), .tvOS(.v13), .watchOS(.v6)],
  products: [.library(name: "Elasticrec", targets: ["Elasticrec"])],
  targets: [
    .target(name: "CElasticrec"),
    .target(name: "Elasticrec", dependencies: ["CElasticrec"]),
  ]
)
