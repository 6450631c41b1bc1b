/** The node types, by what they are for: drag one onto the canvas, or click it. */

import { useSpeech } from "../../app/i18n";

const GROUPS: Record<string, string[]> = {
  work: ["agent", "human", "python", "function", "subgraph", "memory", "fact_check"],
  steer: ["loop", "loop_counter", "loop_timer"],
  together: ["debate", "vote"],
  pass: ["passthrough", "literal"],
};

interface Props {
  types: string[];
  onAdd: (type: string) => void;
}

/** What a type does, in a few words; empty for one of a plug-in. */
export function useKindWords(): (type: string) => string {
  const { t } = useSpeech();
  return (type) => t(`kind.${type}`, { defaultValue: "" });
}

export function Palette({ types, onAdd }: Props) {
  const { t } = useSpeech();
  const words = useKindWords();
  const known = Object.values(GROUPS).flat();
  const groups: [string, string[]][] = [
    ...Object.entries(GROUPS).map(([name, all]): [string, string[]] => [name, all.filter((type) => types.includes(type))]),
    ["others", types.filter((type) => !known.includes(type))],
  ];
  return (
    <nav className="palette" aria-label={t("editor.palette")}>
      {groups
        .filter(([, members]) => members.length > 0)
        .map(([name, members]) => (
          <div className="palette-group" key={name} role="group" aria-label={t(`palette.${name}`)}>
            <h3>{t(`palette.${name}`)}</h3>
            {members.map((type) => (
              <button
                key={type}
                type="button"
                draggable
                title={words(type)}
                onDragStart={(event) => event.dataTransfer.setData("application/rondel-node", type)}
                onClick={() => onAdd(type)}
              >
                {type}
              </button>
            ))}
          </div>
        ))}
      {types.length > 0 && <p className="quiet small">{t("editor.palette_hint")}</p>}
    </nav>
  );
}
