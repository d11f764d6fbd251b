/** The manifest of the Slack app: exactly what the surface needs, and no more. */

const SCOPES = [
  "chat:write", // Shows items and notices.
  "files:read", // Reads the files of replies, and whether a file of ours is shown.
  "files:write", // Shows the files of items.
  "im:history", // Reads replies, and the threads that they are in.
  "im:write", // Opens the direct messages with the person.
  "reactions:write", // Marks a reply as forwarded.
];

export const MANIFEST = {
  display_information: {
    name: "Agent Mesh",
    description: "The questions and messages of your coding agents",
  },
  features: {
    app_home: {
      home_tab_enabled: false,
      messages_tab_enabled: true,
      messages_tab_read_only_enabled: false,
    },
    bot_user: { display_name: "mesh", always_online: false },
  },
  oauth_config: { scopes: { bot: SCOPES } },
  settings: {
    event_subscriptions: { bot_events: ["message.im"] },
    interactivity: { is_enabled: true },
    org_deploy_enabled: false,
    socket_mode_enabled: true,
    token_rotation_enabled: false,
  },
};
