/** Keeps a record that cannot be shown from hiding the others. */

import { Component, type ComponentChildren } from "preact";
import { Copy } from "../copy.tsx";

interface RecordBoundaryProps {
  readonly children: ComponentChildren;
  /** The received record, for copying. */
  readonly of: unknown;
}

interface RecordBoundaryState {
  readonly failed: boolean;
}

export class RecordBoundary extends Component<RecordBoundaryProps, RecordBoundaryState> {
  override state: RecordBoundaryState = { failed: false };

  static override getDerivedStateFromError(): RecordBoundaryState {
    return { failed: true };
  }

  /** Newer data may be complete. */
  override componentDidUpdate(before: RecordBoundaryProps): void {
    if (this.state.failed && before.of !== this.props.of) this.setState({ failed: false });
  }

  override render() {
    const { children, of } = this.props;
    if (!this.state.failed) return children;
    return (
      <div class="failed cluster between" role="status">
        <span>This record cannot be shown: its data is not as expected.</span>
        <Copy text={JSON.stringify(of, null, 2)} label="Copy its data" />
      </div>
    );
  }
}
