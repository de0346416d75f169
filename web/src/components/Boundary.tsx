import { Component, type ReactNode } from "react";

/** Keeps a fault in drawing one page from blanking everything; another address clears it. */
export class Boundary extends Component<{ place: string; children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error): { error: Error } {
    return { error };
  }

  override componentDidUpdate(before: { place: string }): void {
    if (this.state.error && before.place !== this.props.place) this.setState({ error: null });
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <div className="state" role="alert">
        <h1>The page could not be drawn</h1>
        <p>This is a fault of the page, not of your data: {error.message}</p>
        <div className="actions"><button type="button" className="button" onClick={() => window.location.reload()}>Load it again</button></div>
      </div>
    );
  }
}
