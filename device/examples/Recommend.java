import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Arrays;
import org.elasticrec.ElasticStream;

/** Lists ten items for three liked ones: java Recommend STREAM ID ID ID, with ids that are numbers. */
public final class Recommend {
  public static void main(String[] words) throws Exception {
    var likes = Arrays.stream(words).skip(1).map(Long::valueOf).toList();
    try (var file = FileChannel.open(Path.of(words[0]));
        var stream = ElasticStream.open(file.map(FileChannel.MapMode.READ_ONLY, 0, file.size()))) {
      for (var item : stream.recommend(new ElasticStream.Question(likes, 10)).items()) {
        var why = item.why() == null ? "" : " because of " + item.why();
        System.out.println(item.id() + " " + item.score() + why);
      }
    }
  }
}
