// swift-tools-version:5.7
import PackageDescription

let package = Package(
  name: "Elasticrec",
  products: [.library(name: "Elasticrec", targets: ["Elasticrec"])],
  targets: [
    .target(name: "CElasticrec"),
    .target(name: "Elasticrec", dependencies: ["CElasticrec"]),
  ]
)
