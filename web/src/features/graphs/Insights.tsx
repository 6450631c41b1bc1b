export default function Insights({ graph }: { graph: string }) {
  return <main className="page">{graph}</main>;
}
