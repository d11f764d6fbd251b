/** The numbers of added and removed lines. */

/** Such as `+12 −3`. */
export function Counts({ text }: { text: string }) {
  return (
    <span class="counts">
      {text.split(" ").map((part) => {
        if (part.startsWith("+")) return <ins key={part}>{part}</ins>;
        return part.startsWith("−") ? <del key={part}>{part}</del> : part;
      })}
    </span>
  );
}
