import java.lang.reflect.AnnotatedArrayType;
import java.lang.reflect.AnnotatedParameterizedType;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import org.elasticrec.ElasticStream;
import org.jspecify.annotations.NullMarked;
import org.jspecify.annotations.Nullable;

/** Prints each public method of ElasticStream and its records, its nullable types with a `?`. */
public final class Nulls {
  public static void main(String[] words) {
    if (!ElasticStream.class.isAnnotationPresent(NullMarked.class)) {
      throw new IllegalStateException("found no NullMarked, expected one at the class");
    }
    List<String> lines = new ArrayList<>();
    add(lines, ElasticStream.class);
    for (Class<?> each : ElasticStream.class.getDeclaredClasses()) {
      if (Modifier.isPublic(each.getModifiers())) add(lines, each);
    }
    lines.stream().sorted().forEach(System.out::println);
  }

  private static void add(List<String> lines, Class<?> of) {
    String name = of.getSimpleName();
    for (Executable each : of.getConstructors()) lines.add(name + arguments(each));
    for (Method each : of.getDeclaredMethods()) {
      if (!Modifier.isPublic(each.getModifiers()) || of.isRecord() && inherited(each)) continue;
      String returned = shown(each.getAnnotatedReturnType());
      lines.add(name + "." + each.getName() + arguments(each) + ": " + returned);
    }
  }

  private static boolean inherited(Method method) {
    return List.of("equals", "hashCode", "toString").contains(method.getName());
  }

  private static String arguments(Executable of) {
    List<String> all = new ArrayList<>();
    for (AnnotatedType each : of.getAnnotatedParameterTypes()) all.add(shown(each));
    return "(" + String.join(", ", all) + ")";
  }

  private static String shown(AnnotatedType type) {
    String mark = type.isAnnotationPresent(Nullable.class) ? "?" : "";
    if (type instanceof AnnotatedArrayType array) {
      return shown(array.getAnnotatedGenericComponentType()) + "[]" + mark;
    }
    if (type instanceof AnnotatedParameterizedType list) {
      return "List<" + shown(list.getAnnotatedActualTypeArguments()[0]) + ">" + mark;
    }
    return type.getType().getTypeName().replaceAll(".*[.$]", "") + mark;
  }
}
