/** The canvas: nodes, edges, and loops as shaded regions that carry their contract. */

import {
  applyNodeChanges,
  Background,
  BackgroundVariant,
  BaseEdge,
  Controls,
  EdgeLabelRenderer,
  getBezierPath,
  Handle,
  MarkerType,
  Position,
  ReactFlow,
  useReactFlow,
  type Connection,
  type Edge,
  type EdgeProps,
  type Node,
  type NodeChange,
  type NodeProps,
} from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { memo, useEffect, useMemo, useRef, useState } from "react";
import { useSpeech } from "../../app/i18n";
import { edgesOf, nodesOf, startsOf, type GraphBody } from "../../model/graph";
import type { Structure } from "../../model/structure";
import { Shape } from "../../parts/State";
import { conditionWords, isBackEdge, layoutOf, NODE_HEIGHT, NODE_WIDTH, regionsOf, type Point } from "./layout";
import "../../styles/editor.css";

export type Selection = { kind: "node"; id: string } | { kind: "edge"; index: number } | { kind: "loop"; head: string };

export interface FlowProps {
  body: GraphBody;
  structure: Structure;
  /** Words on the chip of each loop, by its head. */
  chips: Map<string, string>;
  states?: Map<string, { status: string; note: string }>;
  selection: Selection | null;
  onSelect: (selection: Selection | null) => void;
  moved?: Map<string, Point>;
  onMove?: (id: string, place: Point) => void;
  onConnect?: (from: string, to: string) => void;
  onDropType?: (type: string, place: Point) => void;
  onDelete?: (selection: Selection) => void;
  /** The view is fitted anew when this changes. */
  fitKey: string;
  /** The nodes are laid out anew when this changes. */
  layoutKey: string;
}

type StepNode = Node<{ id: string; type: string; status: string; note: string; start: boolean }, "step">;
type RegionNode = Node<{ head: string; chip: string; depth: number; onOpen: (head: string) => void }, "region">;
type FlowNode = StepNode | RegionNode;
type FlowEdge = Edge<{ words: string; back: boolean; data: boolean; drop: number; beside: number }, "wire">;

const nodeTypes = { step: memo(StepView), region: memo(RegionView) };
const edgeTypes = { wire: memo(WireView) };

export function GraphFlow(props: FlowProps) {
  const { body, structure, selection, onSelect } = props;
  const { t } = useSpeech();
  const flow = useReactFlow();
  const places = usePlaces(body, structure, props.moved, props.layoutKey);
  const built = useMemo(() => nodesFor(props, places), [body, structure, places, props.chips, props.states, selection]);
  const [nodes, setNodes] = useState<FlowNode[]>(built);
  useEffect(() => setNodes(built), [built]);
  const edges = useMemo(() => edgesFor(body, structure, places, selection), [body, structure, places, selection]);
  useEffect(() => {
    const frame = requestAnimationFrame(() => void flow.fitView({ padding: 0.06, maxZoom: 1 }));
    return () => cancelAnimationFrame(frame);
  }, [flow, props.fitKey]);
  const editable = props.onConnect !== undefined;
  return (
    <ReactFlow<FlowNode, FlowEdge>
      nodes={nodes}
      edges={edges}
      nodeTypes={nodeTypes}
      edgeTypes={edgeTypes}
      onNodesChange={(changes: NodeChange<FlowNode>[]) =>
        setNodes((before) => applyNodeChanges(changes.filter((change) => change.type !== "remove"), before))
      }
      onNodeDragStop={(_, node) => props.onMove?.(node.id, node.position)}
      onConnect={(made: Connection) => props.onConnect?.(made.source, made.target)}
      onNodeClick={(_, node) => node.type === "step" && onSelect({ kind: "node", id: node.id })}
      onEdgeClick={(_, edge) => onSelect({ kind: "edge", index: Number(edge.id.slice(1)) })}
      onPaneClick={() => onSelect(null)}
      onKeyDown={(event) => {
        if ((event.key === "Delete" || event.key === "Backspace") && selection && editable) props.onDelete?.(selection);
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        const type = event.dataTransfer.getData("application/rondel-node");
        if (!type) return;
        event.preventDefault();
        props.onDropType?.(type, flow.screenToFlowPosition({ x: event.clientX, y: event.clientY }));
      }}
      nodesConnectable={editable}
      nodesDraggable={editable}
      deleteKeyCode={null}
      onlyRenderVisibleElements={nodes.length > 150}
      minZoom={0.1}
      maxZoom={1.6}
      aria-label={t("editor.canvas")}
      fitView
      fitViewOptions={{ padding: 0.06, maxZoom: 1 }}
    >
      <Background variant={BackgroundVariant.Dots} gap={22} size={1} color="var(--line)" />
      <Controls showInteractive={false} position="bottom-left" />
    </ReactFlow>
  );
}

/** Where nodes are: laid out once for each key; after that nothing moves but what somebody moves. */
function usePlaces(body: GraphBody, structure: Structure, moved: Map<string, Point> | undefined, key: string): Map<string, Point> {
  const kept = useRef<{ key: string; ids: string[]; places: Map<string, Point> } | null>(null);
  return useMemo(() => {
    const ids = nodesOf(body).map((node) => node.id);
    const before = kept.current?.key === key && kept.current.ids.length > 0 ? kept.current : null;
    const places = before ? carriedOn(before, ids) : layoutOf(body, structure);
    for (const [id, place] of moved ?? []) if (places.has(id)) places.set(id, place);
    kept.current = { key, ids, places };
    return places;
  }, [body, structure, moved, key]);
}

/** Known nodes stay; one with another name takes the old one's place; a new one stands to the right. */
function carriedOn(before: { ids: string[]; places: Map<string, Point> }, ids: string[]): Map<string, Point> {
  const renamed = before.ids.length === ids.length;
  const places = new Map<string, Point>();
  ids.forEach((id, index) => {
    const place = before.places.get(id) ?? (renamed ? before.places.get(before.ids[index]!) : undefined);
    if (place) places.set(id, place);
  });
  for (const id of ids) {
    if (places.has(id)) continue;
    const all = [...places.values()];
    const last = all.reduce((most, place) => (place.x > most.x ? place : most), all[0] ?? { x: -NODE_WIDTH - 64, y: 0 });
    places.set(id, { x: last.x + NODE_WIDTH + 64, y: last.y });
  }
  return places;
}

function nodesFor(props: FlowProps, places: Map<string, Point>): FlowNode[] {
  const { body, structure, chips, states, selection, onSelect } = props;
  const starts = new Set(startsOf(body));
  const regions: FlowNode[] = regionsOf(structure, places).map((region, index) => ({
    id: `loop:${region.head}`,
    type: "region",
    position: { x: region.x, y: region.y },
    width: region.width,
    height: region.height,
    data: { head: region.head, chip: chips.get(region.head) ?? "", depth: region.depth, onOpen: (head) => onSelect({ kind: "loop", head }) },
    draggable: false,
    selectable: false,
    connectable: false,
    focusable: false,
    zIndex: -20 + index,
    className: selection?.kind === "loop" && selection.head === region.head ? "chosen" : "",
  }));
  const steps: FlowNode[] = nodesOf(body).map((node) => ({
    id: node.id,
    type: "step",
    position: places.get(node.id) ?? { x: 0, y: 0 },
    width: NODE_WIDTH,
    height: NODE_HEIGHT,
    data: {
      id: node.id,
      type: node.type,
      status: states?.get(node.id)?.status ?? "",
      note: states?.get(node.id)?.note ?? "",
      start: starts.has(node.id),
    },
    selected: selection?.kind === "node" && selection.id === node.id,
    ariaLabel: `${node.id}, ${node.type}`,
  }));
  return [...regions, ...steps];
}

function edgesFor(body: GraphBody, structure: Structure, places: Map<string, Point>, selection: Selection | null): FlowEdge[] {
  const known = new Set(places.keys());
  let backs = 0;
  const pairs = new Map<string, number>();
  return edgesOf(body).flatMap((edge, index): FlowEdge[] => {
    if (!known.has(edge.from) || !known.has(edge.to)) return [];
    const back = isBackEdge(edge, structure) || edge.from === edge.to;
    const words = [edge.label, conditionWords(edge.condition)].filter(Boolean).join(" · ");
    const pair = `${edge.from}\n${edge.to}`;
    const beside = pairs.get(pair) ?? 0;
    pairs.set(pair, beside + 1);
    const low = back ? lowest(edge.from, edge.to, structure, places) : 0;
    return [
      {
        id: `e${index}`,
        type: "wire",
        source: edge.from,
        target: edge.to,
        sourceHandle: back ? "below-out" : "out",
        targetHandle: back ? "below-in" : "in",
        data: { words, back, data: edge.trigger === false, drop: back ? low + 18 + (backs++ % 3) * 13 : 0, beside },
        selected: selection?.kind === "edge" && selection.index === index,
        markerEnd: { type: MarkerType.ArrowClosed, width: 16, height: 16 },
        ariaLabel: `${edge.from} → ${edge.to}${words ? `: ${words}` : ""}`,
      },
    ];
  });
}

/** How far down the nodes between two others reach, so that a back edge passes below them. */
function lowest(from: string, to: string, structure: Structure, places: Map<string, Point>): number {
  const loop = structure.loops.find((one) => one.head === to && one.nodes.includes(from));
  const left = Math.min(places.get(from)!.x, places.get(to)!.x);
  const right = Math.max(places.get(from)!.x, places.get(to)!.x);
  const between = (loop?.nodes ?? [from, to]).map((id) => places.get(id)).filter((point) => point && point.x >= left && point.x <= right);
  return Math.max(...between.map((point) => point!.y)) + NODE_HEIGHT;
}

function StepView({ data, selected }: NodeProps<StepNode>) {
  return (
    <div className={`flow-node${selected ? " chosen" : ""}${data.status ? ` state-${data.status}` : ""}`}>
      <Handle type="target" id="in" position={Position.Left} />
      <div className="flow-title">
        {data.status && <Shape status={data.status} />}
        <span className="clip">{data.id}</span>
      </div>
      <div className="flow-kind clip">
        {data.start ? "▸ " : ""}
        {data.type}
        {data.note ? ` · ${data.note}` : ""}
      </div>
      <Handle type="source" id="out" position={Position.Right} />
      <Handle type="source" id="below-out" position={Position.Bottom} className="below" isConnectable={false} />
      <Handle type="target" id="below-in" position={Position.Bottom} className="below" isConnectable={false} />
    </div>
  );
}

function RegionView({ data }: NodeProps<RegionNode>) {
  const { t } = useSpeech();
  return (
    <div className="flow-region">
      <button type="button" className="flow-chip nodrag nopan" data-loop={data.head} onClick={() => data.onOpen(data.head)}>
        {t("sheet.loop", { head: data.head })}
        {data.chip && <span> {data.chip}</span>}
      </button>
    </div>
  );
}

function WireView(props: EdgeProps<FlowEdge>) {
  const { sourceX, sourceY, targetX, targetY, data, selected, markerEnd } = props;
  const [path, x, y] = data?.back
    ? backPath(sourceX, sourceY, targetX, targetY, data.drop)
    : getBezierPath({ sourceX, sourceY, targetX, targetY, sourcePosition: Position.Right, targetPosition: Position.Left });
  const kind = `wire${data?.back ? " back" : ""}${data?.data ? " data" : ""}${selected ? " chosen" : ""}`;
  return (
    <>
      <BaseEdge path={path} markerEnd={markerEnd} className={kind} interactionWidth={18} />
      {data?.words && (
        <EdgeLabelRenderer>
          <div className={`wire-words${selected ? " chosen" : ""}`} style={{ transform: `translate(-50%, -50%) translate(${x}px, ${y + (data.back ? 0 : data.beside * 17)}px)` }}>
            {data.words}
          </div>
        </EdgeLabelRenderer>
      )}
    </>
  );
}

/** Down, along, and up again, with round corners: the eye sees the loop. */
function backPath(sx: number, sy: number, tx: number, ty: number, low: number): [string, number, number] {
  const from = sx + 16;
  const to = tx - 16;
  sy -= 5;
  ty -= 2;
  const radius = 10;
  const turn = from >= to ? -1 : 1;
  const path =
    `M ${from} ${sy} L ${from} ${low - radius} Q ${from} ${low} ${from + turn * radius} ${low} ` +
    `L ${to - turn * radius} ${low} Q ${to} ${low} ${to} ${low - radius} L ${to} ${ty}`;
  return [path, (from + to) / 2, low];
}
