/** Names of the other machines, and the lists of those that have rights on this machine. */

/** A machine whose keys are known. */
export interface NamedMachine {
  readonly daemon_id: string;
  /** Its name, for people. */
  readonly name: string;
}

export interface MachineNames {
  /** Finds a machine by its daemon id or its name. */
  find(id_or_name: string): NamedMachine | undefined;
}

const DAEMON_ID = /^dm-[0-9a-f]{12}$/i;

/** The machines that a setting allows something, by their daemon ids or names. */
export class AllowedMachines {
  readonly #allowed: ReadonlySet<string>;
  readonly #machines: MachineNames;

  constructor(allowed: readonly string[], machines: MachineNames) {
    this.#allowed = new Set(allowed.map((name) => name.toLowerCase()));
    this.#machines = machines;
  }

  /** A name counts for the known machine that has it now. The id of another machine is no name. */
  includes(daemon_id: string): boolean {
    if (this.#allowed.size === 0) return false;
    const machine = this.#machines.find(daemon_id);
    if (machine?.daemon_id !== daemon_id) return false;
    const { name } = machine;
    if (this.#allowed.has(daemon_id)) return true;
    return !DAEMON_ID.test(name) && this.#allowed.has(name.toLowerCase());
  }
}
