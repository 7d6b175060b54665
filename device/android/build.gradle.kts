plugins { id("com.android.library") version "8.7.0" }

android {
    namespace = "org.elasticrec"
    compileSdk = 35
    defaultConfig {
        minSdk = 24
        consumerProguardFiles("consumer-rules.pro")
    }
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_17
        targetCompatibility = JavaVersion.VERSION_17
    }
    externalNativeBuild { cmake { path = file("src/main/cpp/CMakeLists.txt") } }
}

// Annotations that Kotlin reads from the class file; nothing of them is shipped or needed to run.
dependencies { compileOnly("org.jspecify:jspecify:1.0.0") }
